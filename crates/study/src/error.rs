//! What goes wrong below a study.

/// Why a drive cannot be opened; its message says all there is to say.
pub type BayError = Box<dyn std::error::Error + Send + Sync>;
