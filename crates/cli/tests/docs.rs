//! The documentation tells the truth: its programs compile, its links lead somewhere, and
//! its sessions print what they show.
//!
//! After a change of what `raddle` prints, `RADDLE_UPDATE=1 cargo test --test docs` writes
//! the new output into the pages; read the difference before you keep it.
//!
//! A `console` block that begins with `$ raddle ` is run (it may also have `$ cat FILE` and
//! `$ echo $?`), in a folder with the examples, the corpus and every program of the page so
//! far that begins with a comment of its name, such as `// bank-fixed.rad`. A line `...` in
//! the output stands for any lines.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use raddle_lang::{Source, Style, diagnostic};
use raddle_schedule::explorers::Guarantee;

/// A page and where it is.
struct Page {
    path: PathBuf,
    /// The path from the root of the repository, for messages.
    name: String,
    text: String,
}

/// A fenced block.
struct Block<'t> {
    /// What follows the fence that opens it.
    tag: &'t str,
    /// The index of its first line in the page.
    start: usize,
    lines: Vec<&'t str>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages below `docs`, and those at the root.
fn pages() -> Vec<Page> {
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ];
    let mut paths: Vec<_> = names.iter().map(|name| root().join(name)).collect();
    paths.retain(|path| path.exists());
    files_below(&root().join("docs"), &mut paths);
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    assert!(paths.len() > 3, "the pages are lost");
    paths
        .into_iter()
        .map(|path| Page {
            name: path
                .strip_prefix(root())
                .expect("all are below the root")
                .display()
                .to_string(),
            text: fs::read_to_string(&path).expect("a page is text"),
            path,
        })
        .collect()
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry can be read").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}

impl Page {
    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<Block<'_>> = None;
        for (index, line) in self.text.lines().enumerate() {
            let fence = line.trim_start().strip_prefix("```");
            match (fence, &mut open) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(tag), None) => {
                    open = Some(Block {
                        tag: tag.trim(),
                        start: index + 1,
                        lines: Vec::new(),
                    });
                }
                (None, Some(block)) => block.lines.push(line),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: the last block has no end", self.name);
        blocks
    }

    /// The lines that are not in a block, by their index.
    fn prose(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let lines = self.text.lines().enumerate();
        lines
            .filter(|(_, line)| {
                let fence = line.trim_start().starts_with("```");
                inside ^= fence;
                !inside && !fence
            })
            .collect()
    }

    /// What links to the headings of the page are called.
    fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter();
        headings
            .filter_map(|(_, line)| line.strip_prefix('#'))
            .map(|heading| {
                let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
                let heading = heading.trim_start_matches('#').trim().to_lowercase();
                heading.chars().filter(kept).collect::<String>()
            })
            .map(|heading| heading.replace(' ', "-"))
            .collect()
    }
}

#[test]
fn every_block_says_what_it_is() {
    for page in pages() {
        for block in page.blocks() {
            assert!(
                !block.tag.is_empty(),
                "{}:{}: a block without a language",
                page.name,
                block.start
            );
        }
    }
}

#[test]
fn programs_compile_and_are_formatted() {
    for page in pages() {
        for block in page.blocks() {
            let at = format!("{}:{}", page.name, block.start);
            let text = block.lines.join("\n") + "\n";
            let source = Source::new(at.as_str(), text.as_str());
            match block.tag {
                "rad" => {
                    let (program, problems) = raddle_machine::load(source.clone());
                    let problems: Vec<_> = problems
                        .iter()
                        .map(|problem| diagnostic::render(problem, &source, Style::Plain))
                        .collect();
                    let problems = problems.join("\n");
                    assert!(program.is_some() && problems.is_empty(), "{problems}");
                    let formatted = raddle_lang::format(&source).expect("it compiles");
                    assert_eq!(text, formatted, "{at}: it is not formatted");
                }
                "rad,error" => {
                    let (program, _) = raddle_machine::load(source);
                    assert!(program.is_none(), "{at}: there is no error in it");
                }
                tag => assert!(!tag.starts_with("rad,"), "{at}: unknown tag `{tag}`"),
            }
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let mut broken = Vec::new();
    for page in &pages {
        for (index, line) in page.prose() {
            // Only what is between pieces of code.
            let text: String = line.split('`').step_by(2).collect();
            for link in text.split("](").skip(1) {
                let target = link.split(')').next().unwrap_or_default();
                let relative = !target.contains("://") && !target.starts_with("mailto:");
                if relative && !leads_somewhere(page, target, &pages) {
                    broken.push(format!("{}:{}: {target}", page.name, index + 1));
                }
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

/// Whether there is a file, and in it the heading.
fn leads_somewhere(page: &Page, target: &str, pages: &[Page]) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => page.path.clone(),
        file => page.path.with_file_name("").join(file),
    };
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let is_linked = |page: &&Page| page.path.canonicalize().is_ok_and(|other| other == path);
    let anchors = pages.iter().find(is_linked).map(Page::anchors);
    anchor.is_empty() || anchors.is_none_or(|names| names.iter().any(|name| name == anchor))
}

#[test]
fn sessions_are_real() {
    let update = std::env::var_os("RADDLE_UPDATE").is_some_and(|value| value != "0");
    let mut differences = String::new();
    for page in pages() {
        let text = replayed(&page, &mut differences);
        if update && text != page.text {
            fs::write(&page.path, text).expect("a page can be written");
        }
    }
    assert!(
        update || differences.is_empty(),
        "{differences}\nif that is right: RADDLE_UPDATE=1 cargo test --test docs"
    );
}

/// The page with the output that its sessions have now.
fn replayed(page: &Page, differences: &mut String) -> String {
    let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(page.name.replace(['/', '\\'], "-"));
    let mut shell: Option<Shell> = None;
    // Lines that were added so far, less those that were removed.
    let mut shift = 0;
    for block in page.blocks() {
        if block.tag.starts_with("rad") {
            if let Some(name) = program_name(block.lines[0]) {
                let shell = shell.get_or_insert_with(|| Shell::new(&folder));
                fs::write(shell.folder.join(name), block.lines.join("\n") + "\n")
                    .expect("a program can be written");
            }
        } else if block.tag == "console" && block.lines[0].starts_with("$ raddle ") {
            let shell = shell.get_or_insert_with(|| Shell::new(&folder));
            let mut session = Vec::new();
            for (command, shown) in commands(&block, &page.name) {
                let real = shell.run(command, shown);
                session.push(format!("$ {command}"));
                if matches(&masked(shown.iter().copied()), &masked(real.lines())) {
                    session.extend(shown.iter().map(|&line| line.to_owned()));
                } else {
                    *differences += &format!("{}: `{command}` prints\n{real}\n", page.name);
                    session.extend(real.lines().map(str::to_owned));
                }
            }
            let start = block.start.strict_add_signed(shift);
            let end = start + block.lines.len();
            shift += session.len() as isize - block.lines.len() as isize;
            lines.splice(start..end, session);
        }
    }
    lines.join("\n") + "\n"
}

/// `bank.rad` for `// bank.rad` and `// bank.rad: about it`.
fn program_name(first_line: &str) -> Option<&str> {
    let name = first_line.strip_prefix("// ")?.split([' ', ':']).next()?;
    name.ends_with(".rad").then_some(name)
}

/// The commands of a session, each with what it shows.
fn commands<'t, 'b>(block: &'b Block<'t>, page: &str) -> Vec<(&'t str, &'b [&'t str])> {
    let parts = block.lines.chunk_by(|_, next| !next.starts_with("$ "));
    let command = |part: &'b [&'t str]| {
        let command = part[0].strip_prefix("$ ").unwrap_or_else(|| {
            panic!("{page}:{}: a session begins with `$ `", block.start);
        });
        (command, &part[1..])
    };
    parts.map(command).collect()
}

/// Whether the output is what was shown, in which `...` stands for any lines.
fn matches(shown: &[String], real: &[String]) -> bool {
    match shown.split_first() {
        None => real.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=real.len()).any(|skipped| matches(rest, &real[skipped..]))
        }
        Some((line, rest)) => real.first() == Some(line) && matches(rest, &real[1..]),
    }
}

/// The lines without times and sizes, which are never the same.
fn masked<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<String> {
    const VARYING: [&str; 8] = [
        "\"seconds\":",
        "\"peak_memory_bytes\":",
        "\"search_memory_bytes\":",
        "bytes per state",
        "of these bytes",
        // A build without a code generator has another one.
        "machine  ",
        "states per second",
        "transitions per second",
    ];
    const UNITS: [&str; 9] = ["µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB"];
    let mask = |line: &str| {
        if let Some(label) = VARYING
            .iter()
            .find(|label| line.trim_start().starts_with(**label))
        {
            return (*label).to_owned();
        }
        let mut words: Vec<&str> = line.split(' ').collect();
        for i in 1..words.len() {
            let number = words[i - 1].starts_with(|c: char| c.is_ascii_digit());
            if number && UNITS.contains(&words[i]) {
                words[i - 1] = "#";
                words[i] = "#";
            }
        }
        // The columns of a table are as wide as its times and sizes.
        let is_rule = !line.is_empty() && line.chars().all(|c| " ─".contains(c));
        if is_rule {
            return "─".into();
        }
        if words.contains(&"#") || line.starts_with("reduction ") {
            words.retain(|word| !word.is_empty());
        }
        words.join(" ")
    };
    lines.map(mask).collect()
}

/// Where the commands of a page are run, one after another.
struct Shell {
    folder: PathBuf,
    exit_code: i32,
}

impl Shell {
    /// In a fresh folder, in which the programs of the repository are found.
    fn new(folder: &Path) -> Self {
        if folder.exists() {
            fs::remove_dir_all(folder).expect("an old folder can be removed");
        }
        let mut files = Vec::new();
        files_below(&root().join("examples"), &mut files);
        files_below(&root().join("corpus"), &mut files);
        for file in files {
            let copy = folder.join(file.strip_prefix(root()).expect("it is below the root"));
            fs::create_dir_all(copy.parent().expect("it is in a folder")).expect("a new folder");
            fs::copy(&file, copy).expect("a file can be copied");
        }
        Self {
            folder: folder.to_owned(),
            exit_code: 0,
        }
    }

    /// What the command prints: first the errors and warnings, then the rest.
    fn run(&mut self, command: &str, shown: &[&str]) -> String {
        if command == "echo $?" {
            return format!("{}\n", self.exit_code);
        }
        if let Some(file) = command.strip_prefix("cat ") {
            return fs::read_to_string(self.folder.join(file)).expect("it can be read");
        }
        let mut words = command.split_whitespace();
        assert_eq!(words.next(), Some("raddle"), "`{command}` cannot be run");
        let mut child = Command::new(env!("CARGO_BIN_EXE_raddle"))
            .args(words)
            .current_dir(&self.folder)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("raddle can be started");
        // What a person has typed follows the prompts.
        let typed: Vec<_> = shown
            .iter()
            .filter_map(|line| line.split_once("] "))
            .filter(|(before, _)| is_prompt(before))
            .map(|(_, typed)| typed)
            .collect();
        let mut stdin = child.stdin.take().expect("it is piped");
        // A command that reads nothing may be gone by now.
        let _ = stdin.write_all((typed.join("\n") + "\n").as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("raddle ends");
        self.exit_code = output.status.code().expect("it was not killed");
        let text = [output.stderr, output.stdout].concat();
        let text = String::from_utf8(text).expect("output is text");
        with_echo(&text, &typed)
    }
}

/// Whether a text ends with the prompt of the debugger, `[3/15`.
fn is_prompt(text: &str) -> bool {
    let Some((_, position)) = text.rsplit_once('[') else {
        return false;
    };
    let is_number = |text: &str| text.parse::<usize>().is_ok();
    position
        .split_once('/')
        .is_some_and(|(step, steps)| is_number(step) && is_number(steps))
}

/// The output as a terminal shows it: with what was typed after every prompt.
fn with_echo(output: &str, typed: &[&str]) -> String {
    let mut typed = typed.iter();
    let mut text = String::new();
    for part in output.split_inclusive("] ") {
        text += part;
        let prompt = part.strip_suffix("] ").is_some_and(is_prompt);
        if prompt && let Some(line) = typed.next() {
            text += line;
            text.push('\n');
        }
    }
    text
}

#[test]
fn every_kind_of_assumption_is_on_the_page_of_the_json_output() {
    let pages = pages();
    let page = pages.iter().find(|page| page.name == "docs/json.md");
    let page = page.expect("the page is there");
    for kind in raddle_outcome::Kind::ALL {
        let name = format!("`\"{}\"`", kind.name());
        assert!(page.text.contains(&name), "{name} is missing");
    }
}

/// The cells of the tables of a page whose first cell is in backquotes, perhaps as a link: without backquotes and links.
fn rows(page: &Page, heading: &str) -> Vec<Vec<String>> {
    let plain = |cell: &str| {
        let name = cell.trim().trim_start_matches('[').split(']').next();
        name.unwrap_or_default().replace('`', "")
    };
    let lines = page.text.lines().skip_while(|line| *line != heading);
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(plain).collect())
        .collect()
}

fn page<'p>(pages: &'p [Page], name: &str) -> &'p Page {
    let page = pages.iter().find(|page| page.name == name);
    page.unwrap_or_else(|| panic!("{name} is missing"))
}

/// What the pages say of explorers is what the registry says.
#[test]
fn pages_say_of_explorers_what_the_registry_says() {
    let all = &raddle_schedule::explorers::ALL;
    let names: Vec<_> = all.iter().map(|entry| entry.name).collect();
    let pages = pages();
    let explorers = page(&pages, "docs/explorers/README.md");
    let table = rows(explorers, "| explorer | runs | guarantee |");
    let first = |row: &Vec<String>| row[0].clone();
    // Execution graphs are no sequences of steps, so their explorer is not in the registry.
    let and_graphs = names.iter().copied().chain(["graphs"]);
    assert_eq!(
        table.iter().map(first).collect::<Vec<_>>(),
        and_graphs.collect::<Vec<_>>()
    );
    for (entry, row) in all.iter().zip(&table) {
        let up_to_bound = row[2].starts_with("everything up to the bound");
        let said = match row[2].split([';', ' ']).next() {
            Some("everything") if up_to_bound => Guarantee::UpToBound,
            Some("everything") => Guarantee::All,
            Some("nothing") => Guarantee::Nothing,
            other => panic!("{}: {other:?}", entry.name),
        };
        assert_eq!(said, entry.guarantee, "{}", entry.name);
    }

    let workers = rows(explorers, "| explorer | |");
    let mut told: Vec<_> = workers
        .iter()
        .flat_map(|row| {
            let names = row[0].split(", ").map(str::to_owned);
            names.map(|name| (name, !row[1].starts_with("one worker")))
        })
        .collect();
    let mut known: Vec<_> = all
        .iter()
        .map(|entry| (entry.name.to_owned(), entry.uses_workers))
        .collect();
    told.sort();
    known.sort();
    assert_eq!(told, known);

    let guide = rows(
        page(&pages, "docs/guide.md"),
        "| `--explore` | what is run |",
    );
    assert_eq!(guide.iter().map(first).collect::<Vec<_>>(), names);
    let json = page(&pages, "docs/json.md");
    for name in names {
        assert!(json.text.contains(&format!("`\"{name}\"`")), "{name}");
    }
}
