//! The guide for Rust code works as it is written: who makes a crate and copies the blocks of the page into the files that they
//! name, in that order, and types the commands, has tests that pass, and no warning.
//!
//! The first line of a block names its file: `// src/lib.rs`, `# Cargo.toml`. A manifest is added to the one that is there; other
//! files are replaced. `with-loom/` and `own-allocator/` name other crates, beside the first. Commands are run in the crate of the block before them.
//! The test of the README, which has no name, is one more file.
//!
//! Nothing is downloaded: the crates use the versions that the workspace is locked to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the page says that the repository is.
const CLONE: &str = "\"../raddle/";

/// The crate of files whose name does not say otherwise.
const FIRST: &str = "tickets";

/// A fenced block.
struct Block {
    tag: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(page)).expect("a page is text");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(tag) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| !line.starts_with("```"));
            blocks.push(Block {
                tag: tag.into(),
                text: inside.map(|line| format!("{line}\n")).collect(),
            });
        }
    }
    blocks
}

/// The crates that grow along the page.
struct Crates {
    folder: PathBuf,
    target: PathBuf,
    /// That of the last block.
    current: PathBuf,
    /// The names of all tests so far that were not seen to pass.
    unseen: BTreeSet<String>,
}

impl Crates {
    fn new() -> Self {
        // Not below the workspace, to which cargo would add them.
        let folder = std::env::temp_dir().join(format!("raddle-guide-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        Self {
            current: folder.join(FIRST),
            folder,
            target: Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide"),
            unseen: BTreeSet::new(),
        }
    }

    /// Goes to a crate, which is made as users make it if it is not there.
    fn enter(&mut self, name: &str) {
        self.current = self.folder.join(name);
        if !self.current.exists() {
            let folder = self.folder.clone();
            self.run_in(
                &folder,
                &format!("cargo new --quiet --vcs none --lib {name}"),
            );
            // Nothing is downloaded.
            let locked = root().join("Cargo.lock");
            fs::copy(locked, self.current.join("Cargo.lock")).expect("the lock can be copied");
        }
    }

    /// Puts a block into the file that its first line names.
    fn add(&mut self, block: &Block) {
        let first = block.text.lines().next().unwrap_or_default();
        let name = first
            .strip_prefix("// ")
            .or_else(|| first.strip_prefix("# "))
            .unwrap_or_else(|| panic!("no file is named: {first}"));
        let others = ["with-loom", "own-allocator"];
        let (krate, file) = match name.split_once('/') {
            Some((krate, file)) if others.contains(&krate) => (krate, file),
            _ => (FIRST, name),
        };
        self.enter(krate);
        self.write(file, &block.text);
    }

    fn write(&mut self, file: &str, text: &str) {
        let hidden = text.lines().any(|line| line.trim_start().starts_with("# "));
        assert!(
            file == "Cargo.toml" || !hidden,
            "{file} has lines that readers do not see:\n{text}"
        );
        let path = self.current.join(file);
        fs::create_dir_all(path.parent().expect("a file is in a folder"))
            .expect("a folder is made");
        let text = if file == "Cargo.toml" {
            let before = fs::read_to_string(&path).expect("there is a manifest");
            // Cargo makes this table to be filled.
            let before = before.replace("[dependencies]\n", "");
            let clone = root().canonicalize().expect("the repository is there");
            let there = format!("\"{}/", clone.display());
            format!("{before}\n{}", text.replace(CLONE, &there))
        } else {
            let mut lines = text.lines().peekable();
            while let Some(line) = lines.next() {
                if line.trim() == "#[test]"
                    && let Some(name) = lines
                        .peek()
                        .and_then(|next| next.trim().strip_prefix("fn "))
                {
                    let end = name.find('(').expect("a function has parameters");
                    self.unseen.insert(name[..end].into());
                }
            }
            text.into()
        };
        fs::write(path, text).expect("a file can be written");
    }

    fn run(&mut self, command: &str) {
        let folder = self.current.clone();
        let output = self.run_in(&folder, command);
        for line in output.lines() {
            let passed = line
                .strip_prefix("test ")
                .and_then(|line| line.strip_suffix(" ... ok"));
            let name = passed.and_then(|path| path.rsplit("::").next());
            // What is to panic, does.
            if let Some(name) = name.map(|name| name.trim_end_matches(" - should panic")) {
                self.unseen.remove(name);
            }
        }
    }

    fn run_in(&self, folder: &Path, command: &str) -> String {
        let cargo = Path::new(env!("CARGO"));
        let mut path = vec![cargo.parent().expect("cargo is in a folder").to_owned()];
        path.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(folder)
            .env("PATH", std::env::join_paths(path).expect("a path"))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            // What the tests here are built with is nothing that the page knows of.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .output()
            .expect("the shell runs");
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "`{command}` fails:\n{output_text}\n{errors}"
        );
        assert!(!errors.contains("warning"), "`{command}` warns:\n{errors}");
        output_text
    }
}

#[test]
fn the_guide_for_rust_compiles_and_passes_as_it_is_written() {
    let mut crates = Crates::new();
    let mut commands = 0;
    for block in blocks("docs/rust.md") {
        match block.tag.as_str() {
            "toml" | "rust" => crates.add(&block),
            "console" => {
                if commands == 0 {
                    // The manifest is complete enough for the README's test.
                    let readme = blocks("README.md")
                        .into_iter()
                        .find(|block| block.tag == "rust");
                    crates.write("tests/readme.rs", &readme.expect("a test").text);
                }
                for line in block.text.lines() {
                    let command = line.strip_prefix("$ ").expect("commands have a prompt");
                    crates.run(command);
                    commands += 1;
                }
            }
            _ => {}
        }
    }
    assert!(commands >= 3, "the page has lost its commands");
    // What comes after the last command is for those who type the first one again.
    crates.enter(FIRST);
    crates.run("cargo test");
    assert_eq!(crates.unseen, BTreeSet::new(), "these tests did not run");
    fs::remove_dir_all(&crates.folder).expect("the crates can be removed");
}
