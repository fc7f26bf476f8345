//! Text for people: numbers with units, and names from outside that a terminal must not obey.

mod numbers;
mod outside;

pub use numbers::{
    format_age_s, format_bit_rate, format_count, format_ns, format_rate, format_size, parse_size, parse_small_size,
};
pub use outside::{Outside, lines};
