//! The five studies: what is claimed of their figures, and the experiments that the claims rest on.

pub(crate) mod cruzer;
pub(crate) mod eide;
pub(crate) mod pi_zero;
pub(crate) mod rally2;
pub(crate) mod sticks_os_fs;

use crate::Study;
use crate::claim::Claim;
use crate::experiment::Experiment;

/// All claims about a study's figures.
pub(crate) fn claims(study: Study) -> Vec<Claim> {
    match study {
        Study::Cruzer => cruzer::claims(),
        Study::Rally2 => rally2::claims(),
        Study::SticksOsFs => sticks_os_fs::claims(),
        Study::Eide => eide::claims(),
        Study::PiZero => pi_zero::claims(),
    }
}

/// All experiments of a study. The longest come first, so that no processor waits for another at
/// the end.
pub(crate) fn experiments(study: Study) -> Vec<Experiment> {
    match study {
        Study::Cruzer => cruzer::experiments(),
        Study::Rally2 => rally2::experiments(),
        Study::SticksOsFs => sticks_os_fs::experiments(),
        Study::Eide => eide::experiments(),
        Study::PiZero => pi_zero::experiments(),
    }
}
