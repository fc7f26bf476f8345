//! Arrays that were run on other hosts since.

use super::*;

/// Here a was run alone. Elsewhere all three were run together, then b and c without a.
#[test]
fn those_who_left_may_have_gone_on_without_the_one_who_stayed() {
    let all = array(Level::Raid1, 3, 0);
    let book = seen(&all).after(sight(&[at(all[0].clone(), 107)]));
    let with_all = at(all[0].clone(), 120);
    let later: Vec<_> = without(&all, 0, 126);
    let found = [vec![with_all.clone()], later.clone()].concat();
    assert_eq!(judge(Some(&book), &found), nothing());
    // Nobody says that a stick belongs to them.
    let stick = stranger(&later[0], 126);
    let said = doubt(&book, &[with_all, stick]);
    assert!(said.contains("stick was never seen in the array"), "{said}");
    // The one who stayed was run alone there, too, and so were the others.
    let alone = without(&all, 1, 120);
    let alone = without(&alone, 2, 120).remove(0);
    let said = doubt(&book, &[vec![alone], later].concat());
    assert!(said.contains("left the array and claims update 126"), "{said}");
}
