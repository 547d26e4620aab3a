//! Whatever the input, the parser, the checker and the formatter return. If one of them took
//! more than about linear time, the tests here would not end soon.

mod common;

use common::{documented_programs, format_and_check};
use raddle_lang::{Source, Style, analyse, diagnostic, format, parse};

/// A small generator of random numbers (xorshift), so that every run is the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Parses, formats and renders; if it is a program, formatting must keep it the same.
fn survive(text: &str) {
    let source = Source::new("t.rad", text);
    let (_, problems) = parse(&source);
    assert!(problems.len() <= 50);
    for problem in problems.iter().take(3) {
        assert!(problem.span.start <= problem.span.end);
        assert!(problem.span.end as usize <= text.len());
        let _ = diagnostic::render(problem, &source, Style::Plain);
    }
    if problems.is_empty() {
        format_and_check(text);
    } else {
        assert!(format(&source).is_err());
    }
}

/// Cuts a text into words, numbers, blanks and single other characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

const INTERESTING: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "=",
    "==",
    ":=",
    "*",
    "&",
    "-",
    "<",
    ">",
    ">>",
    "..",
    "||",
    "?",
    "//",
    "/*",
    "*/",
    "\"",
    "\n",
    " ",
    "if",
    "else",
    "while",
    "for",
    "switch",
    "case",
    "default",
    "int",
    "chan",
    "struct",
    "enum",
    "atomic",
    "choose",
    "or",
    "run",
    "const",
    "assert",
    "new",
    "spawn",
    "L:",
    "é",
    "\0",
    "'",
    "#",
    "0x",
    "1.5",
    "99999999999",
    "and",
    "elif",
    "/* c */",
    "// c\n",
    "= {1, 2}",
    "x++",
    "do",
    "goto",
    "thread_local",
    "guarded_by",
];

#[test]
fn mutated_programs() {
    let programs = documented_programs();
    let pieces: Vec<Vec<&str>> = programs.iter().map(|text| pieces(text)).collect();
    let mut random = Random(0x5eed);
    for _ in 0..4000 {
        let mut mutant = random.pick(&pieces).clone();
        for _ in 0..=random.below(4) {
            let at = random.below(mutant.len());
            let other = random.below(mutant.len());
            match random.below(7) {
                0 => drop(mutant.remove(at)),
                1 => mutant.insert(at, mutant[at]),
                2 => mutant.swap(at, other),
                3 => mutant[at] = *random.pick(INTERESTING),
                4 => mutant.insert(at, *random.pick(INTERESTING)),
                5 => mutant.truncate(at.max(1)),
                _ => {
                    let donor = random.pick(&pieces);
                    let from = random.below(donor.len());
                    mutant.truncate(at);
                    mutant.extend(&donor[from..]);
                }
            }
            if mutant.is_empty() {
                break;
            }
        }
        survive(&mutant.concat());
    }
}

#[test]
fn comments_anywhere() {
    let programs = documented_programs();
    let mut random = Random(0xc0);
    for _ in 0..1500 {
        let text = random.pick(&programs);
        let mut mutant: Vec<&str> = pieces(text);
        for _ in 0..=random.below(5) {
            let at = random.below(mutant.len());
            let comment = [
                "/* c */",
                " // c\n",
                "\n// c\n",
                "\n/* a\n * b */\n",
                "\n",
                "\n\n\n",
            ];
            mutant.insert(at, *random.pick(&comment));
        }
        survive(&mutant.concat());
    }
}

#[test]
fn other_layouts() {
    let programs = documented_programs();
    let mut random = Random(0x1a);
    for _ in 0..1000 {
        let text = random.pick(&programs).replace("// ", "/* c */ // ");
        let calm = random.below(12) + 2;
        let mut mutant = String::new();
        for piece in pieces(&text) {
            match piece {
                " " if random.below(calm) == 0 => mutant += "\n",
                // A line comment would swallow what follows.
                "\n" if random.below(calm) == 0 && !text.contains("//") => mutant += " ",
                "\n" if random.below(calm) == 0 => mutant += "\n\n\n",
                // Wide numbers make long lines.
                "0" | "1" | "2" | "3" if random.below(calm) < 2 => {
                    mutant += &"0".repeat(random.below(60));
                    mutant += piece;
                }
                _ => mutant += piece,
            }
        }
        survive(&mutant);
    }
}

#[test]
fn soups_of_tokens() {
    let mut random = Random(0x50);
    for _ in 0..2000 {
        let length = random.below(60);
        let soup: Vec<&str> = (0..length).map(|_| *random.pick(INTERESTING)).collect();
        survive(&soup.join(" "));
    }
}

#[test]
fn arbitrary_bytes() {
    let mut random = Random(0xb17e5);
    for _ in 0..2000 {
        let length = random.below(200);
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        survive(&String::from_utf8_lossy(&bytes));
        let text: String = bytes.iter().map(|byte| char::from(byte % 128)).collect();
        survive(&text);
    }
}

#[test]
fn pathological_nesting() {
    let many = |text: &str| text.repeat(100_000);
    let inside = |text: String| format!("void f() {{ {text}");
    let programs = [
        many("("),
        many("{"),
        many("}"),
        many("["),
        many("/*"),
        many("\""),
        many("struct S { "),
        many("// c\n"),
        many("/* c */"),
        many("int f(\n"),
        many("int x;"),
        format!("int x = {};", many("{")),
        format!("int x = {}1;", many("1 + ")),
        format!("int x = {}1;", many("-")),
        format!("int x = {}1;", many("- ")),
        format!("int x = {}1{};", many("("), many(")")),
        format!("int x = {}1;", many("1 ? 2 : ")),
        format!("int x = {}1;", many("a ==> ")),
        format!("int x = {}1{};", many("f("), many(")")),
        format!("int x = a{};", many("[0]")),
        format!("int x = a{};", many(".b")),
        format!("int x = {}1;", many("(int) ")),
        format!("int x = {}1;", many("a = ")),
        format!("int{} x;", many("*")),
        format!("int x{};", many("[1]")),
        format!("int x guarded_by m{};", many("[0]")),
        format!("int x {};", many("guarded_by m ")),
        format!("int x {};", many("thread_local ")),
        format!("int x; exclusive x{} when (true);", many("[i]")),
        format!("enum E {{ {} }};", many("V, ")),
        format!("struct S {{ {} }};", many("int x; ")),
        format!("int {};", many("x, ")),
        format!("void f({}int x) {{ }}", many("int x, ")),
        format!("int x = {};", many("9")),
        format!("int {};", many("x")),
        many("\n"),
        many("é"),
        many("const int c = c; "),
        many("invariant x; "),
        many("exclusive x when (x); "),
        many("run f(); "),
        many("int f() { "),
        many("int f() { } "),
        many("void f() { L: goto L; } "),
        format!("{}int{} x;", many("chan<"), many(">")),
        format!("int x = {{{}1}};", many("1, ")),
        format!("run {}f();", many("f() || ")),
        inside(many("{")),
        inside(many("{}")),
        inside(many("{}\n")),
        inside(many("; ")),
        inside(many("(")),
        inside(many("assert(")),
        inside(many("L: ")),
        inside(many("if (x) ")),
        inside(many("if (x) { y = 1; } else ")),
        inside(many("if (x) y = 1; else\n")),
        inside(many("do ")),
        inside(many("switch (x) { case 1: ")),
        inside(many("case 1: ")),
        inside(format!("switch (x) {{ {}", many("case 1: skip; "))),
        inside(format!("switch (x) {{ {}", many("default: int x; "))),
        inside(many("int x; { ")),
        inside(many("int x; ")),
        inside(many("{ int x; } ")),
        inside(many("L: goto L; ")),
        inside(many("while (*) ")),
        inside(many("for (int i = 0; i < 1; i++) ")),
        inside(many("return; ")),
        inside(many("reach; ")),
        inside(many("wait(m); ")),
        inside(many("x = y + z * w; ")),
        inside(many("f(\n")),
        inside(many("for (")),
        inside(many("atomic { ")),
        inside(many("choose { } or ")),
        format!("{}}}", inside(many("x = 1; "))),
        format!("{}}}", inside(many("if (x) { y = 1; } "))),
    ];
    for text in programs {
        let source = Source::new("t.rad", text);
        let (_, problems) = parse(&source);
        let formatted = format(&source);
        assert_eq!(problems.is_empty(), formatted.is_ok());
        let (_, problems) = analyse(&source);
        for problem in problems.iter().take(3) {
            let _ = diagnostic::render(problem, &source, Style::Plain);
        }
    }
}
