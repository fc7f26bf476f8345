//! `shoal alert`: whether people would be told.

use shoal_documents::{AlertTestDocument, WayOutDocument};
use shoal_running::{host_name, tell_gone};
use shoal_unattended::alert::{Configuration, NotifierError, try_all};
use shoal_unattended::service::array_unit;

use crate::args::{AlertArgs, Cli};
use crate::exit::Failure;
use crate::output;
use crate::setup::environment;

/// Reads the file, and tries it out if that is wanted.
pub(crate) fn run(cli: &Cli, args: &AlertArgs) -> Result<(), Failure> {
    if let Some(uuid) = args.gone {
        let unit = array_unit(&uuid);
        let mend = format!(
            "`systemctl status {unit}` says why; `systemctl reset-failed {unit}` and then `systemctl start {unit}` runs it"
        );
        tell_gone(environment(), &args.file, uuid, mend)?;
    }
    let configuration = Configuration::read(&args.file).map_err(Failure::usage)?;
    let ways = if args.test { try_out(&configuration)? } else { Vec::new() };
    let failed = ways.iter().filter(|way| way.problem.is_some()).count();
    let document = AlertTestDocument { file: args.file.display().to_string(), tested: args.test, ways };
    output::document(cli, &document, text)?;
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Shown(format!("{failed} of {} ways out did not take the test", document.ways.len()))),
    }
}

fn try_out(configuration: &Configuration) -> Result<Vec<WayOutDocument>, Failure> {
    let results = try_all(configuration, &host_name()).map_err(|error| match error {
        NotifierError::Configuration(error) => Failure::usage(error),
        NotifierError::File { .. } => Failure::failed(error),
    })?;
    let way = |(name, result): (String, Result<(), _>)| WayOutDocument {
        name,
        problem: result.err().map(|error: shoal_unattended::alert::SendError| error.to_string()),
    };
    Ok(results.into_iter().map(way).collect())
}

fn text(document: &AlertTestDocument) -> String {
    if !document.tested {
        return format!("{}: understood; --test tries it out\n", document.file);
    }
    let line = |way: &WayOutDocument| match &way.problem {
        None => format!("{}: taken\n", way.name),
        Some(problem) => format!("{}: {problem}\n", way.name),
    };
    document.ways.iter().map(line).collect()
}
