//! `shoal replay`: the published studies, played on simulated drives, and held against what was
//! printed.

mod document;
mod text;

use std::path::Path;

use shoal_replay::charts::chart;
use shoal_replay::{Replay, Study, Summary, replay};

pub(crate) use document::ReplayDocument;
use document::StudyDocument;

use crate::args::{Cli, ReplayArgs};
use crate::exit::Failure;
use crate::output;

pub(crate) fn run(cli: &Cli, args: &ReplayArgs) -> Result<(), Failure> {
    let studies: Vec<_> = Study::ALL.into_iter().filter(|study| wanted(*study, &args.studies)).collect();
    let played = replay(&studies).map_err(Failure::failed)?;
    if let Some(directory) = &args.charts {
        std::fs::create_dir_all(directory).map_err(|error| at(directory, &error))?;
    }
    let mut documents = Vec::new();
    for study in studies {
        let summary = Summary::of(played.figures.iter().filter(|figure| figure.study == study));
        let chart = args.charts.as_deref().map(|directory| draw(&played, study, directory)).transpose()?;
        documents.push(StudyDocument { study, title: study.title().to_owned(), summary, chart });
    }
    let summary = Summary::of(played.figures.iter());
    let document = ReplayDocument { figures: played.figures, summary, studies: documents };
    output::document(cli, &document, text::text)
}

fn wanted(study: Study, named: &[Study]) -> bool {
    named.is_empty() || named.contains(&study)
}

fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

fn draw(played: &Replay, study: Study, directory: &Path) -> Result<String, Failure> {
    let path = directory.join(format!("{}.svg", study.name()));
    let svg = chart(played, study).map_err(Failure::failed)?;
    std::fs::write(&path, svg).map_err(|error| at(&path, &error))?;
    Ok(path.display().to_string())
}
