//! Running the command.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A program with more states than anybody can wait for.
pub(crate) const ENDLESS: &str = "int x; void w() { while (true) x++; } run w()[3];";

/// What the command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Fails unless the command ended with this exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless standard output contains all of the texts.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        contains(&self.stdout, texts);
        self
    }

    /// Fails unless standard error contains all of the texts.
    #[track_caller]
    pub(crate) fn complains(self, texts: &[&str]) -> Self {
        contains(&self.stderr, texts);
        self
    }

    /// Fails unless standard error is empty.
    #[track_caller]
    pub(crate) fn complains_not(self) -> Self {
        assert_eq!(self.stderr, "");
        self
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}{}", self.stdout, self.stderr));
        assert!(value.is_object(), "{value}");
        value
    }
}

#[track_caller]
fn contains(said: &str, texts: &[&str]) {
    for text in texts {
        assert!(said.contains(text), "there is no `{text}` in:\n{said}");
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// The root of the repository: programs are named from there.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("there is a repository")
}

/// The command, to be run in the root of the repository, with all streams piped.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("NO_COLOR")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs `raddle` with arguments.
pub(crate) fn raddle(arguments: &[&str]) -> Said {
    let output = command(arguments).output();
    output.expect("the command can be run").into()
}

/// Runs `raddle` with arguments and a text to read.
pub(crate) fn raddle_reading(arguments: &[&str], input: &str) -> Said {
    let child = command(arguments).stdin(Stdio::piped()).spawn();
    let mut child: Child = child.expect("the command can be run");
    let mut stdin = child.stdin.take().expect("it is piped");
    // Whether the command reads all of it is its own affair.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the command ends").into()
}

/// An empty folder for a test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("cli")
            .join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = self.0.join(name).into_os_string();
        path.into_string().expect("the path is UTF-8")
    }

    /// Writes a file; gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file can be written");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file is there")
    }
}

/// The programs of the corpus and the examples, named from the root.
pub(crate) fn programs() -> Vec<String> {
    let folders = ["corpus/classics", "corpus/papers", "corpus/witnesses"];
    let mut programs = Vec::new();
    for folder in folders.into_iter().chain(["examples"]) {
        let entries = std::fs::read_dir(root().join(folder)).expect("there are programs");
        for entry in entries {
            let name = entry.expect("the folder can be listed").file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".rad") {
                programs.push(format!("{folder}/{name}"));
            }
        }
    }
    programs.sort();
    programs
}

/// The programs that violate a default property.
pub(crate) fn violated_programs() -> Vec<String> {
    let mut programs = programs();
    programs.retain(|program| {
        let path = root().join(program).with_extension("expect");
        let expect = std::fs::read_to_string(path).expect("there is an expectation");
        expect.contains("verdict = violation")
    });
    assert!(programs.len() > 50, "{programs:?}");
    programs
}
