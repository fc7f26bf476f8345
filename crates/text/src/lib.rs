//! Text for people: numbers with units, dates, names from outside that a terminal must not obey,
//! and words that a shell takes as they are.

mod dates;
mod numbers;
mod outside;
mod shell;
mod whole;

pub use dates::{format_day, format_minute};
pub use numbers::{
    format_age_s, format_bit_rate, format_count, format_ns, format_rate, format_size, parse_size, parse_small_size,
};
pub use outside::{Outside, lines};
pub use shell::shell_word;
pub use whole::whole_number;
