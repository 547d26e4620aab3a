//! The text of source files, for reports.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use raddle_report::story::Spot;

/// Files that were read.
#[derive(Default)]
pub(crate) struct Sources {
    files: HashMap<String, Vec<String>>,
}

impl Sources {
    /// Adds the text of its line to a place, as far as it can be found.
    pub(crate) fn with_text(&mut self, mut spot: Spot) -> Spot {
        let lines = self
            .files
            .entry(spot.file.clone())
            .or_insert_with(|| read(&spot.file));
        let line = (spot.line as usize).checked_sub(1);
        if let Some(text) = line.and_then(|line| lines.get(line)) {
            spot.text = text.trim().to_owned();
        }
        spot
    }
}

fn read(file: &str) -> Vec<String> {
    let text = find(Path::new(file)).and_then(|path| std::fs::read_to_string(path).ok());
    text.map_or_else(Vec::new, |text| text.lines().map(str::to_owned).collect())
}

/// The compiler names files relative to the workspace; tests run in the directory of a package.
fn find(file: &Path) -> Option<PathBuf> {
    let directory = std::env::current_dir().ok()?;
    directory
        .ancestors()
        .map(|ancestor| ancestor.join(file))
        .find(|path| path.is_file())
}
