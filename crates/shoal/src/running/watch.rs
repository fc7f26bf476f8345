//! Who watches over a running array from outside, and what they hear of it: the service manager.

use std::time::{Duration, Instant};

use shoal_unattended::Heart;

use super::host::Host;
use crate::documents::StateDocument;

/// See the module's documentation.
pub(super) struct Watch {
    heart: Heart,
}

impl Watch {
    /// Tells that the array can be used.
    pub(super) fn begin(host: &mut Host) -> Self {
        let mut heart = Heart::of_this_process();
        heart.is_ready(&status_line(&host.state()));
        Self { heart }
    }

    /// How long the owner may wait, who would wait so long.
    pub(super) fn patience(&self, patience: Duration) -> Duration {
        patience.min(self.heart.patience(Instant::now()))
    }

    /// The owner has come round.
    pub(super) fn came_round(&mut self) {
        self.heart.beat(Instant::now());
    }

    /// Something has happened to the array.
    pub(super) fn see(&mut self, state: &StateDocument) {
        self.heart.is(&status_line(state));
    }

    /// The array is brought to rest.
    pub(super) fn end(&mut self) {
        self.heart.stops();
    }
}

/// `pond: raid5, degraded, rebuild under way`
fn status_line(state: &StateDocument) -> String {
    let work = state.background.as_ref().map_or(String::new(), |work| format!(", {} under way", work.work));
    format!("{}: {}, {}{work}", state.array.name, state.array.level, state.array.health)
}
