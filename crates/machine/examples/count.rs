use std::sync::Arc;
use raddle_explore::*;
use raddle_machine::*;
fn main() {
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&f).unwrap();
        let source = raddle_lang::Source::new(f.clone(), text);
        let (p, d) = load(source.clone());
        for d in &d { eprintln!("{}", raddle_lang::diagnostic::render(d, &source, raddle_lang::Style::Plain)); }
        let Some(p) = p else { println!("{f} ERROR"); continue };
        let mut m = Machine::new(Arc::new(p), Granularity::Access);
        let t = std::time::Instant::now();
        let o = Search::new().collect_all().run(&mut m, &mut reductions::full::Full::default());
        let s = &o.statistics;
        println!("{f} states={} transitions={} blocked={} ended={} {:?} viol={} {:.2}s {}B", s.states, s.transitions, s.blocked_steps, s.ended_steps, o.verdict, o.violations.len(), t.elapsed().as_secs_f64(), s.memory_bytes/s.states.max(1));
        for v in &o.violations { let sp=m.program().span(v.places()[0]); println!("    {:?} {} line {}", v.property(), v.message(), source.line_column(sp.start).line); }
    }
}
