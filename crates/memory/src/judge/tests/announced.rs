//! Updates of one number that were announced one after the other, and cut short.

use super::*;

/// That c left is announced, and only b gets it. Then a and c are started alone, who lack it: that
/// b left is announced by the same number, and only c gets that. The later announcement counts.
#[test]
fn the_later_of_two_announcements_with_one_number_counts() {
    let all = array(Level::Raid1, 3, 0);
    let first = without(&all, 2, 101);
    let later = without(&all, 1, 101);
    let book = seen(&all).after(sight(&first)).after(sight(&later));
    let [a, b, c] = [&all[0], &first[1], &later[1]].map(Clone::clone);
    let found = [a.clone(), b.clone(), c.clone()];
    assert_eq!(judge(Some(&book), &found), out(1, Suspicion::GivenUp));
    let taken: Vec<_> = [&a, &c].map(|found| found.candidate.clone()).into();
    assert_eq!(shoal_md::assemble(&taken).map(|assembly| assembly.health()), Ok(Health::Degraded));
    // In the other order b has the later one.
    let book = seen(&all).after(sight(&later)).after(sight(&first));
    assert_eq!(judge(Some(&book), &[a.clone(), b.clone(), c]), out(2, Suspicion::GivenUp));
    // Nobody who is there has the later one: who left by it is as good as any.
    assert_eq!(judge(Some(&book), &all), nothing());
    // An update that was begun anew with the same number counts on the same members.
    let again = seen(&all).after(sight(&all.iter().map(|it| at(it.clone(), 101)).collect::<Vec<_>>()));
    let again = again.after(sight(&first));
    assert_eq!(judge(Some(&again), &[at(a, 101), b, at(all[2].clone(), 101)]), nothing());
}
