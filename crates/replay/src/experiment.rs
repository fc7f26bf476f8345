//! Experiments: what is simulated, each by itself, so that as many run at once as there are
//! processors.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::outcomes::Outcomes;
use crate::{ReplayError, Study, studies};

/// A part of a study that can be played alone. It makes worlds of its own, so order does not
/// matter.
pub(crate) struct Experiment(Box<Run>);

type Run = dyn Fn(&mut Outcomes) -> Result<(), ReplayError> + Send + Sync;

impl Experiment {
    pub(crate) fn new(run: impl Fn(&mut Outcomes) -> Result<(), ReplayError> + Send + Sync + 'static) -> Self {
        Self(Box::new(run))
    }

    fn run(&self) -> Result<Outcomes, ReplayError> {
        let mut outcomes = Outcomes::default();
        (self.0)(&mut outcomes)?;
        Ok(outcomes)
    }
}

/// Plays a study, on all processors.
pub(crate) fn play(study: Study) -> Result<Outcomes, ReplayError> {
    let experiments = studies::experiments(study);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Outcomes, ReplayError> {
        let mut outcomes = Outcomes::default();
        while let Some(experiment) = experiments.get(next.fetch_add(1, Ordering::Relaxed)) {
            outcomes.join(experiment.run()?);
        }
        Ok(outcomes)
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors.min(experiments.len())).map(|_| scope.spawn(work)).collect();
        let mut outcomes = Outcomes::default();
        for worker in workers {
            outcomes.join(worker.join().expect("an experiment ends with a result")?);
        }
        Ok(outcomes)
    })
}
