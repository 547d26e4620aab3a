//! Downloading, copying and building packages.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::data::Crate;

/// A test program that was built.
#[derive(Clone, Debug)]
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    /// The name of its target.
    pub(crate) target: String,
    /// Where it runs.
    pub(crate) folder: PathBuf,
}

/// Builds the tests of a crate: with the drop-in for loom of a repository, or else with loom itself.
pub(crate) fn build(
    krate: &Crate,
    work: &Path,
    repository: Option<&Path>,
) -> Result<Vec<Binary>, String> {
    let source = download(krate, work)?;
    let which = if repository.is_some() {
        "raddle"
    } else {
        "loom"
    };
    let folder = work
        .join(which)
        .join(format!("{}-{}", krate.name, krate.version));
    let manifest = folder.join("Cargo.toml");
    let is_loom = krate.name == "loom";
    let prepared = if is_loom {
        copy_folder(&source.join("tests"), &folder.join("tests"))
            .and_then(|()| fs::create_dir_all(folder.join("src")))
            .and_then(|()| update(&folder.join("src/lib.rs"), ""))
            .and_then(|()| update(&manifest, manifest_of_loom_tests(&source)))
    } else {
        copy_folder(&source, &folder)
            .and_then(|()| stand_alone(&source, krate))
            .and_then(|text| update(&manifest, text))
    };
    prepared.map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut cargo = Command::new("cargo");
    if let Some(repository) = repository {
        let loom = drop_in(krate, work, repository)?;
        cargo.args([
            "--config",
            &format!("patch.crates-io.loom.path='{}'", loom.display()),
        ]);
    }
    cargo.args(["test", "--release", "--no-run", "--message-format=json"]);
    cargo.args(&krate.target);
    if !krate.features.is_empty() {
        cargo.args(["--features", &krate.features.join(",")]);
    }
    if krate.no_default_features {
        cargo.arg("--no-default-features");
    }
    let mut flags: Vec<_> = krate.cfg.iter().map(|cfg| format!("--cfg {cfg}")).collect();
    // Warnings of other projects are not of interest here, but denying them would be an error.
    flags.push("--cap-lints warn".into());
    if krate.debug_assertions {
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    }
    // Not kept in memory: the most memory that was resident here is the least that the system says of the tests.
    let messages = folder.join("cargo-messages.json");
    let file = File::create(&messages).map_err(|error| error.to_string())?;
    let output = cargo
        .current_dir(&folder)
        .env("RUSTFLAGS", flags.join(" "))
        .env("CARGO_TARGET_DIR", work.join(which).join("target"))
        // What takes long here is building, once.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .stdin(Stdio::null())
        .stdout(file)
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let first = lines_of(&messages).find_map(|line| {
            line.contains("\"level\":\"error\"")
                .then(|| string_after(&line, "\"message\":{\"rendered\":\""))?
        });
        return Err(first.unwrap_or_else(|| errors.into_owned()));
    }
    if lines_of(&folder.join("Cargo.lock")).any(|line| line == UNUSED) {
        return Err("it does not use the version of loom that crates.toml says".into());
    }
    let mut binaries: Vec<_> = lines_of(&messages)
        .filter_map(|line| binary_of(&line, &folder))
        .collect();
    binaries.sort_by(|one, two| one.target.cmp(&two.target));
    Ok(binaries)
}

/// The test program that a message of cargo is about.
fn binary_of(message: &str, folder: &Path) -> Option<Binary> {
    // These fields have no escapes but in paths of Windows.
    let path = string_after(message, "\"executable\":\"")?;
    let (_, target) = message.split_once("\"target\":{")?;
    message.contains("\"test\":true").then_some(())?;
    Some(Binary {
        path: path.into(),
        target: string_after(target, "\"name\":\"")?,
        folder: folder.to_owned(),
    })
}

/// The lines of a file, as far as it can be read.
pub(crate) fn lines_of(path: &Path) -> impl Iterator<Item = String> + use<> {
    let file = File::open(path).ok().map(BufReader::new);
    let lines = file.into_iter().flat_map(|file| file.split(b'\n'));
    lines
        .map_while(Result::ok)
        .map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// What cargo notes if the drop-in for loom has replaced nothing: the tests would run with loom itself.
const UNUSED: &str = "[[patch.unused]]";

/// The string that begins after `key`.
fn string_after(line: &str, key: &str) -> Option<String> {
    let rest = line.split_once(key)?.1;
    let end = rest.find('"')?;
    Some(rest[..end].replace("\\n", "\n"))
}

/// Has cargo download a package, and returns where it is.
fn download(krate: &Crate, work: &Path) -> Result<PathBuf, String> {
    let folder = work.join("download").join(&krate.name);
    let manifest = format!(
        "[package]\nname = \"download\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{} = \"={}\"\n",
        krate.name, krate.version
    );
    fs::create_dir_all(folder.join("src"))
        .and_then(|()| fs::write(folder.join("Cargo.toml"), manifest))
        .and_then(|()| fs::write(folder.join("src/lib.rs"), ""))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1"])
        .current_dir(&folder)
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let end = format!("{}-{}/Cargo.toml", krate.name, krate.version);
    text.split("\"manifest_path\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .find(|path| path.ends_with(&end))
        .and_then(|path| Path::new(path).parent())
        .map(Path::to_owned)
        .ok_or_else(|| format!("cargo does not say where {end} is"))
}

/// Copies a folder, but for manifests, which are made anew, and lock files, which may name versions of what is patched.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if name != "Cargo.toml" && name != "Cargo.lock" {
            update(&target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// Writes a file unless that is what it contains: cargo builds again what was written.
fn update(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let contents = contents.as_ref();
    match fs::read(path) {
        Ok(earlier) if earlier == contents => Ok(()),
        _ => fs::write(path, contents),
    }
}

/// The manifest with which a package is a workspace of its own.
fn stand_alone(source: &Path, krate: &Crate) -> io::Result<String> {
    let mut manifest = fs::read_to_string(source.join("Cargo.toml"))?;
    for (from, to) in &krate.replace {
        manifest = manifest.replace(from, to);
    }
    if !manifest.contains("[workspace]") {
        manifest += "\n[workspace]\n";
    }
    Ok(manifest)
}

/// A package for loom's own tests, which depends on loom as others do.
fn manifest_of_loom_tests(source: &Path) -> String {
    let version = source.file_name().map_or_else(String::new, |name| {
        name.to_string_lossy().replace("loom-", "")
    });
    format!(
        "[package]\nname = \"loom-tests\"\nversion = \"0.0.0\"\nedition = \"2018\"\n\n[workspace]\n\n\
         [features]\nfutures = [\"loom/futures\"]\ncheckpoint = [\"loom/checkpoint\"]\n\n\
         [dependencies]\nloom = \"={version}\"\nfutures-util = \"0.3\"\n"
    )
}

/// The drop-in for loom, with the version that a crate asks for.
fn drop_in(krate: &Crate, work: &Path, repository: &Path) -> Result<PathBuf, String> {
    let ours = repository.join("crates/loom");
    let ours = ours
        .canonicalize()
        .map_err(|error| format!("{}: {error}", ours.display()))?;
    let Some(version) = &krate.loom else {
        return Ok(ours);
    };
    let copy = work.join(format!("loom-{version}"));
    let manifest =
        fs::read_to_string(ours.join("Cargo.toml")).map_err(|error| error.to_string())?;
    let raddle = repository.join("crates/raddle");
    let raddle = raddle.canonicalize().map_err(|error| error.to_string())?;
    let lines = manifest.lines().map(|line| match line {
        "version = \"0.7.2\"" => format!("version = \"{version}\""),
        "edition.workspace = true" => "edition = \"2024\"".into(),
        line if line.starts_with("raddle = ") => {
            line.replace("../raddle", &raddle.display().to_string())
        }
        line if line.ends_with(".workspace = true") => String::new(),
        line => line.into(),
    });
    let manifest = lines.map(|line| line + "\n").collect::<String>() + "\n[workspace]\n";
    copy_folder(&ours, &copy)
        .and_then(|()| update(&copy.join("Cargo.toml"), manifest))
        .map_err(|error| format!("{}: {error}", copy.display()))?;
    Ok(copy)
}
