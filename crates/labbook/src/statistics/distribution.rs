//! How two statistics of ranks are distributed where nothing but chance is at work.

use crate::limits::EXACT_MAX;

/// 97.5 % of a normal distribution lie below so many standard deviations above its mean.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// The lower tail of a symmetric distribution over 0, 1, 2, ...
pub(super) enum Distribution {
    /// The probability of each value.
    Exact(Vec<f64>),
    /// The largest value that is 2.5 % from the lower end, by the normal approximation; none if
    /// even 0 is not.
    Normal(Option<usize>),
}

impl Distribution {
    /// The Mann-Whitney statistic of two groups: in how many of the pairs the one of the first
    /// group is the larger. The numbers of orders are the Gaussian binomial coefficients.
    pub(super) fn of_groups(first: usize, second: usize) -> Self {
        let (first_real, second_real) = (first as f64, second as f64);
        if first.max(second) > EXACT_MAX {
            let variance = first_real * second_real * (first_real + second_real + 1.0) / 12.0;
            return Self::normal(first_real * second_real / 2.0, variance);
        }
        let mut counts = vec![0.0; first * second + 1];
        counts[0] = 1.0;
        for number in 1..=second {
            multiply(&mut counts, first + number);
            divide(&mut counts, number);
        }
        Self::exact(counts)
    }

    /// Kendall's statistic of so many points: how many pairs are out of order.
    pub(super) fn of_order(points: usize) -> Self {
        let real = points as f64;
        if points > EXACT_MAX {
            let variance = real * (real - 1.0) * (2.0 * real + 5.0) / 72.0;
            return Self::normal(real * (real - 1.0) / 4.0, variance);
        }
        let mut counts = vec![0.0; points * points.saturating_sub(1) / 2 + 1];
        counts[0] = 1.0;
        for number in 2..=points {
            multiply(&mut counts, number);
            divide(&mut counts, 1);
        }
        Self::exact(counts)
    }

    /// The probability of that value or a smaller one. Of the approximation all that is known is on
    /// which side of 2.5 % it is.
    pub(super) fn at_most(&self, value: usize) -> f64 {
        match self {
            Self::Exact(probabilities) => probabilities.iter().take(value.saturating_add(1)).sum(),
            Self::Normal(largest) if largest.is_some_and(|largest| value <= largest) => 0.025,
            Self::Normal(_) => 1.0,
        }
    }

    fn exact(counts: Vec<f64>) -> Self {
        let all: f64 = counts.iter().sum();
        Self::Exact(counts.into_iter().map(|count| count / all).collect())
    }

    fn normal(mean: f64, variance: f64) -> Self {
        // Half a step for what lies between whole numbers.
        let largest = mean - NORMAL_975 * variance.sqrt() - 0.5;
        Self::Normal((largest >= 0.0).then_some(largest as usize))
    }
}

/// Multiplies a power series by 1 - x^power.
fn multiply(counts: &mut [f64], power: usize) {
    for place in (power..counts.len()).rev() {
        counts[place] -= counts[place - power];
    }
}

/// Divides a power series by 1 - x^power.
fn divide(counts: &mut [f64], power: usize) {
    for place in power..counts.len() {
        counts[place] += counts[place - power];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn small_ones_are_counted() {
        let three = Distribution::of_groups(3, 3);
        for (value, orders) in [(0, 1.0), (1, 2.0), (2, 4.0), (3, 7.0), (9, 20.0), (100, 20.0)] {
            assert!(near(three.at_most(value), orders / 20.0), "{value}");
        }
        let four = Distribution::of_order(4);
        for (value, orders) in [(0, 1.0), (1, 4.0), (2, 9.0), (3, 15.0), (6, 24.0)] {
            assert!(near(four.at_most(value), orders / 24.0), "{value}");
        }
        // Kendall's table: ten points, S of 23 or more by chance in 2.3 %.
        assert!((Distribution::of_order(10).at_most(11) - 0.023).abs() < 0.0005);
    }

    #[test]
    fn nothing_and_one_say_nothing() {
        for distribution in [
            Distribution::of_groups(0, 3),
            Distribution::of_groups(0, 0),
            Distribution::of_order(1),
            Distribution::of_order(0),
        ] {
            assert!(near(distribution.at_most(0), 1.0));
        }
    }

    #[test]
    fn exact_and_approximate_meet() {
        for count in [20, 40] {
            let exact = Distribution::of_groups(count, count);
            let edge = (0..).take_while(|&value| exact.at_most(value) <= 0.025).last();
            let real = count as f64;
            let normal = Distribution::normal(real * real / 2.0, real * real * (2.0 * real + 1.0) / 12.0);
            assert!(
                matches!(normal, Distribution::Normal(largest) if largest.unwrap_or(0).abs_diff(edge.unwrap_or(0)) <= 1)
            );
            let exact = Distribution::of_order(count);
            let edge = (0..).take_while(|&value| exact.at_most(value) <= 0.025).last();
            let normal =
                Distribution::normal(real * (real - 1.0) / 4.0, real * (real - 1.0) * (2.0 * real + 5.0) / 72.0);
            assert!(
                matches!(normal, Distribution::Normal(largest) if largest.unwrap_or(0).abs_diff(edge.unwrap_or(0)) <= 1)
            );
        }
    }
}
