//! Every program of the corpus and of the examples, through every reduction and every
//! order of search, compared with the `.expect` file beside it.
//!
//! `RADDLE_UPDATE=1 cargo test -p raddle-machine --test corpus` counts the states and
//! transitions anew and writes them into the `.expect` files; nothing else in them is changed.

mod examine;
mod expectation;

use std::path::{Path, PathBuf};

/// The folders with programs, and one test for each.
macro_rules! folders {
    ($($test:ident = $folder:literal,)*) => {
        const FOLDERS: &[&str] = &[$($folder),*];

        $(#[test]
        fn $test() {
            examine_folder($folder);
        })*
    };
}

folders! {
    classics = "corpus/classics",
    litmus = "corpus/litmus",
    papers = "corpus/papers",
    witnesses = "corpus/witnesses",
    examples = "examples",
}

#[test]
fn every_folder_of_the_corpus_has_a_test() {
    for entry in std::fs::read_dir(root().join("corpus")).expect("there is a corpus") {
        let path = entry.expect("the corpus can be listed").path();
        let name = path.strip_prefix(root()).expect("it is below the root");
        let tested = FOLDERS.iter().any(|folder| Path::new(folder) == name);
        assert!(tested || path.is_file(), "{} has no test", name.display());
    }
}

#[test]
fn every_expectation_has_a_program() {
    for folder in FOLDERS {
        for path in files(&root().join(folder), "expect") {
            let program = path.with_extension("rad");
            assert!(program.exists(), "{} does not exist", program.display());
        }
    }
}

/// Examines all programs of a folder, and reports together what is wrong with them.
fn examine_folder(folder: &str) {
    let update = std::env::var_os("RADDLE_UPDATE").is_some_and(|value| value == "1");
    let programs = files(&root().join(folder), "rad");
    assert!(!programs.is_empty(), "there are no programs in {folder}");
    let mut report = String::new();
    let mut failed = 0;
    for path in &programs {
        let problems = examine::examine(path, update);
        failed += usize::from(!problems.is_empty());
        for problem in problems {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            report += &format!("  {folder}/{name}: {problem}\n");
        }
    }
    let count = programs.len();
    assert!(report.is_empty(), "{failed} of {count} programs:\n{report}");
    println!("{count} programs");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder and the folders in it, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
