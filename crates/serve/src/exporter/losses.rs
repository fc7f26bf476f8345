//! What clients of an exporter have to hear of what may be lost, and have heard.

/// What may be lost, as far as clients have to hear of it.
#[derive(Debug)]
pub(super) struct Losses {
    /// The volume has refused a flush.
    pub(super) has_refused: bool,
    /// Content was changed since all clients were told last.
    pub(super) is_untold: bool,
    /// How often they were told.
    pub(super) count: u32,
    /// Who comes waits until it is known what drives there are.
    pub(super) are_arrivals_held: bool,
}

impl Losses {
    /// Those who come may have been answered by the process before this one.
    pub(super) fn new() -> Self {
        Self { has_refused: false, is_untold: true, count: 0, are_arrivals_held: false }
    }
}
