//! How sure a difference is, and a tendency. Both are told by ranks, so that nothing is taken for
//! granted of how measurements scatter, and one stall among them does not decide.
//!
//! * What lies between two groups of repeats is the Hodges-Lehmann estimate: the median of all
//!   differences between one of the one group and one of the other. Its interval is Moses's, of the
//!   distribution of the Mann-Whitney statistic. (J. L. Hodges, E. L. Lehmann, "Estimates of
//!   location based on rank tests", Annals of Mathematical Statistics 34, 1963, 598 to 611; M.
//!   Hollander, D. A. Wolfe, E. Chicken, "Nonparametric Statistical Methods", 3rd edition, Wiley
//!   2014, sections 4.2 and 4.3.)
//! * What changes over time is the Theil-Sen slope: the median of the slopes between all pairs of
//!   points. Its interval is Sen's, of the distribution of Kendall's statistic. (P. K. Sen,
//!   "Estimates of the regression coefficient based on Kendall's tau", Journal of the American
//!   Statistical Association 63, 1968, 1379 to 1389; Hollander, Wolfe and Chicken, sections 9.1 to
//!   9.3.)
//!
//! The distributions are exact for few values, and the usual normal approximation for many. An
//! interval aims at 95 %. Few values do not reach that: with three repeats on both sides the widest
//! interval there is holds 90 %, and is taken, which calls two groups different only if every
//! repeat of one beats every repeat of the other. Below 90 % there is none.
//!
//! What this cannot know of: that the repeats of one run have something in common that another run
//! has not, as a warm drive, or a busy machine. Such runs differ, and are called different.

mod distribution;

use schemars::JsonSchema;
use serde::Serialize;

use distribution::Distribution;

use crate::limits::{POINTS_MAX, VALUES_MAX};

/// The confidence that is aimed at.
const AIMED: f64 = 0.95;
/// The least that says anything.
const LEAST: f64 = 0.90;

/// Where the truth lies, with that confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interval {
    /// Its lower end.
    pub low: i64,
    /// Its upper end.
    pub high: i64,
    /// So many of a thousand such intervals hold the truth.
    pub confidence_per_mille: u32,
}

/// An estimate, with its interval if there are values enough for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) value: i64,
    pub(crate) interval: Option<Interval>,
}

/// The median; of an even number of values, the mean of the two in the middle, rounded down.
pub fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(lower.midpoint(upper))
}

/// By how much `after` is more than `before`. None if one of them is empty.
pub(crate) fn shift(before: &[u64], after: &[u64]) -> Option<Estimate> {
    let before = &before[..before.len().min(VALUES_MAX)];
    let after = &after[..after.len().min(VALUES_MAX)];
    let difference = |(one, other): (u64, u64)| other as f64 - one as f64;
    let pairs = before.iter().flat_map(|&one| after.iter().map(move |&other| (one, other)));
    estimate(pairs.map(difference).collect(), &Distribution::of_groups(before.len(), after.len()), 1.0)
}

/// What changed in `span_ns`, by points of time and value. None where all is of one time.
pub(crate) fn change(points: &[(u64, u64)], span_ns: u64) -> Option<Estimate> {
    let points = &points[points.len().saturating_sub(POINTS_MAX)..];
    let mut slopes = Vec::new();
    for (index, &(time, value)) in points.iter().enumerate() {
        let later = points[index + 1..].iter().filter(|(other_time, _)| *other_time != time);
        slopes.extend(
            later.map(|&(other_time, other)| (other as f64 - value as f64) / (other_time as f64 - time as f64)),
        );
    }
    estimate(slopes, &Distribution::of_order(points.len()), span_ns as f64)
}

/// The median of what pairs say, and the interval between the same ranks from both ends.
fn estimate(mut of_pairs: Vec<f64>, distribution: &Distribution, unit: f64) -> Option<Estimate> {
    let count = of_pairs.len();
    // Of a million values four are wanted: to sort them all would take longer than all else.
    let mut nth = |place: usize| *of_pairs.select_nth_unstable_by(place, f64::total_cmp).1;
    let value = whole(f64::midpoint(nth(count.checked_sub(1)? / 2), nth(count / 2)) * unit);
    let interval =
        rank(distribution).filter(|(rank, _)| *rank <= count.div_ceil(2)).map(|(rank, confidence)| Interval {
            low: whole(nth(rank - 1) * unit),
            high: whole(nth(count - rank) * unit),
            confidence_per_mille: (confidence * 1000.0) as u32,
        });
    Some(Estimate { value, interval })
}

/// Which value from either end bounds the interval, from 1, and the confidence that this has.
fn rank(distribution: &Distribution) -> Option<(usize, f64)> {
    let confidence = |rank: usize| 1.0 - 2.0 * distribution.at_most(rank - 1);
    let widest = confidence(1);
    if widest < AIMED {
        return (widest >= LEAST).then_some((1, widest));
    }
    let rank = (2..).take_while(|&rank| confidence(rank) >= AIMED).last().unwrap_or(1);
    Some((rank, confidence(rank)))
}

/// Rounded; what is beyond an integer is its end.
fn whole(value: f64) -> i64 {
    value.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: i64, high: i64, confidence_per_mille: u32) -> Option<Interval> {
        Some(Interval { low, high, confidence_per_mille })
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3, 1, 2]), Some(2));
        assert_eq!(median(vec![u64::MAX, u64::MAX - 2]), Some(u64::MAX - 1));
    }

    #[test]
    fn three_against_three_differ_if_all_of_one_beat_all_of_the_other() {
        assert_eq!(shift(&[1, 2, 3], &[5, 7, 9]), Some(Estimate { value: 5, interval: interval(2, 8, 900) }));
        assert_eq!(shift(&[5, 7, 9], &[1, 2, 3]), Some(Estimate { value: -5, interval: interval(-8, -2, 900) }));
        let overlapping = shift(&[1, 2, 6], &[5, 7, 9]).expect("there are values");
        assert_eq!(overlapping.interval, interval(-1, 8, 900));
    }

    #[test]
    fn few_values_have_no_interval() {
        for (before, after) in [(1, 1), (2, 3), (1, 18)] {
            let values = |count: u64| (0..count).collect::<Vec<_>>();
            let shift = shift(&values(before), &values(after)).expect("there are values");
            assert_eq!(shift.interval, None, "{before} and {after}");
        }
        assert_eq!(shift(&[], &[1]), None);
        assert_eq!(change(&[(1, 1), (2, 2), (3, 3)], 1).expect("there are pairs").interval, None);
        assert_eq!(change(&[(1, 1)], 1), None);
        assert_eq!(change(&[(1, 1), (1, 2), (1, 3), (1, 9), (1, 3)], 1), None, "all at one time");
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Critical values of Mann and Whitney for 5 and 5 at 5 %, two-sided: 2; so the third
        // differences from both ends.
        let shift = shift(&[10, 20, 30, 40, 50], &[11, 21, 31, 41, 51]).expect("there are values");
        assert_eq!(shift, Estimate { value: 1, interval: interval(-29, 31, 968) });
    }

    #[test]
    fn a_straight_line_has_its_slope_whatever_one_point_does() {
        let mut points: Vec<_> = (0..10).map(|day| (day * 86_400, 1000 - 10 * day)).collect();
        let span = 9 * 86_400;
        assert_eq!(change(&points, span), Some(Estimate { value: -90, interval: interval(-90, -90, 953) }));
        points[4].1 = 5000;
        assert_eq!(change(&points, span).expect("there are pairs").value, -90);
    }

    #[test]
    fn the_slope_of_sens_own_example_is_his() {
        // Slope 4, between 26/7 and 35/8.
        let times = [1_u64, 2, 3, 4, 10, 12, 18];
        let values = [9_u64, 15, 19, 20, 45, 55, 78];
        let points: Vec<_> = times.into_iter().zip(values).collect();
        let change = change(&points, 1000).expect("there are pairs");
        assert_eq!(change, Estimate { value: 4000, interval: interval(3714, 4375, 969) });
    }

    #[test]
    fn extremes_do_no_harm() {
        let shift = shift(&[0, 0, 0], &[u64::MAX; 3]).expect("there are values");
        assert_eq!(shift.value, i64::MAX);
        assert!(change(&[(0, u64::MAX), (1, 0), (2, u64::MAX), (3, 0), (u64::MAX, 1)], u64::MAX).is_some());
    }

    #[test]
    fn noise_is_called_different_about_as_often_as_is_said() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        let mut different = 0;
        for _ in 0..2000 {
            let before: Vec<_> = (0..6).map(|_| random()).collect();
            let after: Vec<_> = (0..6).map(|_| random()).collect();
            let interval = shift(&before, &after).and_then(|shift| shift.interval).expect("six are enough");
            different += u32::from(interval.low > 0 || interval.high < 0);
        }
        assert!((40..=120).contains(&different), "{different} of 2000, where 5 % at most were promised");
    }
}
