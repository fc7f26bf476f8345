//! The help: the commands in groups, and an example of each.

use clap::{Command, CommandFactory, FromArgMatches};

use super::Cli;
use super::examples::examples_of;

/// Commands that people want for one purpose.
pub(crate) struct Group {
    title: &'static str,
    pub(crate) commands: &'static [&'static str],
}

const fn group(title: &'static str, commands: &'static [&'static str]) -> Group {
    Group { title, commands }
}

/// All commands that are shown. One that is forgotten here fails a test.
pub(crate) const GROUPS: [Group; 9] = [
    group("Know what there is", &["drives", "list", "status", "examine", "check", "bench", "study", "profile", "demo"]),
    group("Look back on what was measured", &["log", "show", "compare", "trend"]),
    group("Plan what to buy", &["plan", "replay"]),
    group("Build", &["create", "format", "grow", "rename", "wipe"]),
    group("Run", &["run", "serve", "attach", "detach", "stop", "speed", "service", "hot-plug"]),
    group("Use", &["mount", "unmount", "read", "write"]),
    group("Share", &["share", "unshare", "network"]),
    group(
        "Look after",
        &["fail", "add", "remove", "replace", "re-add", "rebuild", "scrub", "recover", "trust", "alert"],
    ),
    group("For programs and developers", &["man", "completions", "schemas", "sim", "help"]),
];

/// What clap adds by itself.
const HELP: (&str, &str) = ("help", "Show this, or the help of a command");
/// Columns that a command's name has.
const NAME_COLUMNS: usize = 12;

/// Reads the command line.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let mut command = with_groups(Cli::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The program with its help.
fn with_groups(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options of every command:\n{{options}}{{after-help}}",
        overview(&command)
    );
    command.help_template(template).mut_subcommands(with_examples)
}

/// A command with its examples at the end of its help.
fn with_examples(command: Command) -> Command {
    let examples = examples_of(command.get_name());
    if examples.is_empty() {
        return command;
    }
    let lines: String = examples.iter().map(|example| format!("\n  {example}")).collect();
    let before = command.get_after_help().map_or_else(String::new, |text| format!("{text}\n\n"));
    command.after_help(format!("{before}Examples:{lines}"))
}

/// All groups.
fn overview(command: &Command) -> String {
    let mut text = String::new();
    for Group { title, commands } in &GROUPS {
        text += &format!("{title}:\n");
        for name in *commands {
            text += &format!("  {name:<NAME_COLUMNS$}{}\n", about(command, name));
        }
        text.push('\n');
    }
    text
}

/// What a command does, in a line.
fn about(command: &Command, name: &str) -> String {
    if name == HELP.0 {
        return HELP.1.to_owned();
    }
    let about = command.find_subcommand(name).and_then(Command::get_about);
    about.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    /// With the name, it fits a terminal of 80 columns.
    const ABOUT_COLUMNS: usize = 80 - 2 - NAME_COLUMNS;

    fn shown() -> Vec<Command> {
        Cli::command().get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        let mut commands: Vec<_> = shown().iter().map(|command| command.get_name().to_owned()).collect();
        commands.push(HELP.0.to_owned());
        grouped.sort_unstable();
        commands.sort();
        assert_eq!(grouped, commands);
    }

    #[test]
    fn what_a_command_does_is_a_line_of_its_own() {
        for command in shown() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let columns = about.chars().count();
            assert!((1..=ABOUT_COLUMNS).contains(&columns), "{}: {columns} columns: {about}", command.get_name());
        }
    }

    #[test]
    fn every_command_has_an_example_that_is_understood() {
        for command in shown() {
            let name = command.get_name();
            assert!(!examples_of(name).is_empty(), "{name} has no example");
            for example in examples_of(name) {
                // What pipes bytes in or out is the shell's, and no argument.
                let arguments = example.split_whitespace().take_while(|word| !matches!(*word, "<" | ">" | "|"));
                assert!(example.starts_with(&format!("shoal {name}")), "{example}");
                let parsed = with_groups(Cli::command()).try_get_matches_from(arguments);
                assert!(parsed.is_ok(), "{example}: {}", parsed.err().map_or(String::new(), |error| error.to_string()));
            }
        }
    }

    /// README.md and the pages beside it.
    fn documents() -> Vec<(PathBuf, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let paths = pages.chain([root.join("README.md"), root.join("CONTRIBUTING.md")]);
        paths.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
    }

    /// What a document has people type: lines of its blocks that begin with the program, after a
    /// prompt or not.
    fn typed(text: &str) -> impl Iterator<Item = &str> {
        let mut is_block = false;
        text.lines().filter_map(move |line| {
            is_block ^= line.starts_with("```");
            let line = line.strip_prefix("$ ").or_else(|| line.strip_prefix("# ")).unwrap_or(line);
            (is_block && line.starts_with("shoal ")).then_some(line)
        })
    }

    #[test]
    fn what_the_documents_have_people_type_is_understood() {
        let mut count = 0;
        for (path, text) in documents() {
            for line in typed(&text) {
                count += 1;
                // The rest is the shell's.
                let words = line.split([';', '|', '<', '>', '&']).next().unwrap_or_default().replace('\'', "");
                let words = words.split_whitespace().take_while(|word| !word.starts_with('#'));
                let parsed = with_groups(Cli::command()).try_get_matches_from(words);
                let why = parsed.err().map(|error| error.to_string());
                assert!(why.is_none(), "{}: {line}: {}", path.display(), why.unwrap_or_default());
            }
        }
        assert!(count > 30, "{count} lines are few: are the blocks found?");
    }

    #[test]
    fn links_of_the_documents_lead_to_files() {
        for (path, text) in documents() {
            for (_, after) in text.match_indices("](").map(|(at, mark)| text.split_at(at + mark.len())) {
                let link = after.split([')', '#', ' ']).next().unwrap_or_default();
                let is_here = !link.contains("://") && !link.is_empty();
                assert!(!is_here || path.with_file_name(link).exists(), "{}: {link}", path.display());
            }
        }
    }
}
