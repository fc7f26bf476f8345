//! A chart for each study, as SVG, in the shape of the study's own: what was published beside what
//! the replay predicts.

mod kit;
mod pictures;

use crate::{Replay, Study};

/// Why a chart cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// The study was not played.
    #[error("study {} was not played: play it, and then draw it", .0.name())]
    NotPlayed(Study),
    /// The drawing failed.
    #[error("the chart of {} cannot be drawn: {why}", study.name())]
    Drawing {
        /// The study.
        study: Study,
        /// What the library says.
        why: String,
    },
}

/// The chart of a study that was played, as the text of an SVG file.
pub fn chart(replay: &Replay, study: Study) -> Result<String, ChartError> {
    let played = replay.outcomes.iter().find(|(played, _)| *played == study);
    let (_, outcomes) = played.ok_or(ChartError::NotPlayed(study))?;
    let figures: Vec<_> = replay.figures.iter().filter(|figure| figure.study == study).collect();
    let drawn = match study {
        Study::Cruzer => pictures::cruzer(&figures, outcomes),
        Study::Rally2 => pictures::rally2(&figures, outcomes),
        Study::SticksOsFs => pictures::sticks_os_fs(&figures),
        Study::Eide => pictures::eide(&figures),
        Study::PiZero => pictures::pi_zero(&figures),
    };
    drawn.map_err(|why| ChartError::Drawing { study, why })
}
