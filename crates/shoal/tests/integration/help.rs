//! The help, the manual pages and the completions say what the program does.

use crate::support::Bay;

const COMMANDS: [&str; 35] = [
    "demo",
    "study",
    "plan",
    "profile",
    "bench",
    "replay",
    "create",
    "examine",
    "trust",
    "status",
    "read",
    "write",
    "fail",
    "add",
    "remove",
    "replace",
    "re-add",
    "grow",
    "rebuild",
    "scrub",
    "run",
    "serve",
    "format",
    "mount",
    "unmount",
    "service",
    "hot-plug",
    "alert",
    "stop",
    "speed",
    "sim",
    "man",
    "completions",
    "schemas",
    "help",
];

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_help_says_exit_statuses_and_sizes() {
    let bay = Bay::new(0);
    let help = text(bay.done("--help").stdout);
    for words in ["0 done", "1 failed", "2 wrong usage", "3 refused", "64K, 512KiB", "powers of two", "1MB is 10^6"] {
        assert!(help.contains(words), "no `{words}` in:\n{help}");
    }
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "no `{command}` in:\n{help}");
    }
}

#[test]
fn every_option_of_every_command_is_explained() {
    let bay = Bay::new(0);
    for command in COMMANDS.into_iter().filter(|&command| command != "help") {
        let help = text(bay.done(&format!("{command} --help")).stdout);
        let lines: Vec<_> = help.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let option = line.trim_start();
            if !line.starts_with("  ") || !option.starts_with(['-', '<']) || option.starts_with("- ") {
                continue;
            }
            let beside = option.contains("  ");
            let below = lines.get(number + 1).is_some_and(|next| next.starts_with("          "));
            assert!(beside || below, "shoal {command}: `{option}` is not explained");
        }
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let bay = Bay::new(0);
    let listed = text(bay.done("man pages").stdout);
    for command in COMMANDS.into_iter().filter(|&command| command != "help") {
        let page = format!("pages/shoal-{command}.1");
        assert!(listed.lines().any(|line| line == page), "{listed}");
        assert!(std::fs::read_to_string(bay.path(&page)).unwrap().contains(".TH"), "{page}");
    }
    assert!(std::fs::read_to_string(bay.path("pages/shoal.1")).unwrap().contains("refused"));
}

#[test]
fn completions_are_printed_for_three_shells() {
    let bay = Bay::new(0);
    for (shell, words) in [("bash", "complete -F _shoal"), ("zsh", "#compdef shoal"), ("fish", "complete -c shoal")] {
        let script = text(bay.done(&format!("completions {shell}")).stdout);
        assert!(script.contains(words) && script.contains("rebuild"), "{shell}");
    }
}

#[test]
fn a_drive_is_spelled_in_one_way() {
    let bay = Bay::new(0);
    for (command, options) in [
        ("fail", ["--member <DRIVE>", ""]),
        ("remove", ["--member <DRIVE>", ""]),
        ("replace", ["--member <DRIVE>", "--drive <DRIVE>"]),
        ("add", ["--drive <DRIVE>", ""]),
        ("re-add", ["--drive <DRIVE>", ""]),
        ("grow", ["--drive <DRIVE>", ""]),
    ] {
        let help = text(bay.done(&format!("{command} --help")).stdout);
        for word in ["--member <", "--drive <", "--with <", "--add <"] {
            let is_said = options.iter().any(|option| option.starts_with(word));
            assert_eq!(help.contains(word), is_said, "shoal {command}: {word}");
        }
        assert!(options.iter().all(|option| help.contains(option)), "{help}");
    }
}
