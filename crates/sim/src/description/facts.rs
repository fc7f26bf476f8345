//! What one wants to know of a drive before it is bought.

/// What is known of a drive beside how it behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What it costs.
    pub price: Option<Price>,
    /// What it draws.
    pub power: Power,
    /// Chance that one fails within a year, in millionths.
    pub yearly_failure_ppm: Option<u32>,
    /// Bits that can be read, in the mean, before a sector cannot be.
    pub bits_per_unreadable_sector: Option<u64>,
    /// When it came out: a year, a month or a day, as `2007`, `2007-03`, `2007-03-01`.
    pub released: Option<String>,
}

/// What a drive costs in a shop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Hundredths of a US dollar.
    pub usd_cents: u64,
    /// When: a year, a month or a day.
    pub date: String,
}

/// What a drive draws from its supply. USB gives 5 V: 500 mA are 2500 mW.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// When it has nothing to do.
    pub idle_mw: Option<u32>,
    /// When it reads or writes.
    pub active_mw: Option<u32>,
    /// While it starts.
    pub start_mw: Option<u32>,
}
