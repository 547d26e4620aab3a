//! `raddle fmt`

use crate::support::{Folder, programs, raddle, raddle_reading};

const UGLY: &str = "int   x ;\nvoid main( ){\nx=1;}";
const NEAT: &str = "int x;\nvoid main() {\n    x = 1;\n}\n";

#[test]
fn files_are_rewritten() {
    let folder = Folder::new("fmt");
    let path = folder.write("p.rad", UGLY);
    raddle(&["fmt", &path]).exits(0).complains_not();
    assert_eq!(folder.read("p.rad"), NEAT);
    raddle(&["fmt", &path]).exits(0);
    assert_eq!(folder.read("p.rad"), NEAT);
}

#[test]
fn checking_changes_nothing() {
    let folder = Folder::new("fmt-check");
    let ugly = folder.write("ugly.rad", UGLY);
    let neat = folder.write("neat.rad", NEAT);
    let said = raddle(&["fmt", "--check", &neat, &ugly]).exits(1);
    assert_eq!(said.stdout, format!("{ugly} would be formatted\n"));
    assert_eq!(folder.read("ugly.rad"), UGLY);
    let said = raddle(&["fmt", "--check", &neat]).exits(0);
    assert_eq!(said.stdout, "");
}

#[test]
fn a_broken_file_is_left_alone_and_the_others_are_not() {
    let folder = Folder::new("fmt-broken");
    let broken = folder.write("broken.rad", "int   x");
    let ugly = folder.write("ugly.rad", UGLY);
    raddle(&["fmt", &broken, "no/such.rad", &ugly])
        .exits(2)
        .complains(&[
            "cannot be formatted: it has errors",
            "cannot read no/such.rad",
        ]);
    assert_eq!(folder.read("broken.rad"), "int   x");
    assert_eq!(folder.read("ugly.rad"), NEAT);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let said = raddle_reading(&["fmt", "-"], UGLY).exits(0).complains_not();
    assert_eq!(said.stdout, NEAT);
    raddle_reading(&["fmt", "--check", "-"], UGLY).exits(1);
    raddle_reading(&["fmt", "--check", "-"], NEAT).exits(0);
    let said = raddle_reading(&["fmt", "-"], "int x").exits(2);
    assert_eq!(said.stdout, "");
}

#[test]
fn every_program_of_the_repository_can_be_formatted() {
    let programs = programs();
    let mut arguments = vec!["fmt", "--check", "--quiet"];
    arguments.extend(programs.iter().map(String::as_str));
    let said = raddle(&arguments);
    assert!(matches!(said.code, Some(0 | 1)), "{}", said.stderr);
    said.complains_not();
}
