//! Arrays inside an array.

use super::*;

#[test]
fn arrays_inside_one_are_of_one_time() {
    let all = array(Level::Raid1, 2, 0);
    let book = seen(&all);
    let gone_on = Standing::of(Some(&book), &without(&all, 1, 104)[..1]);
    let lacking = Standing::of(Some(&book), &all[1..]);
    let whole = Standing::of(Some(&book), &all);
    assert_eq!(gone_on, Standing::GoneOn);
    assert_eq!(lacking, Standing::Lacking { missing: 1, members: 2 });
    assert_eq!([&whole, &Standing::of(None, &all[1..])], [&Standing::Whole; 2]);
    let [one, other] = [1, 2].map(|number| Uuid([number; 16]));
    let mixed =
        |standings: [&Standing; 2]| Standing::is_mixed(&[(one, standings[0].clone()), (other, standings[1].clone())]);
    assert_eq!(mixed([&gone_on, &lacking]), elsewhere(1, 2).map(|doubt| (other, doubt)));
    assert_eq!(mixed([&lacking, &lacking]), None);
    assert_eq!(mixed([&gone_on, &whole]), None);
    // The first member has left here; elsewhere the array inside went on with that one.
    let alone = without(&all, 0, 102);
    let book = book.after(sight(&alone));
    let lacking = Standing::of(Some(&book), &alone);
    assert_eq!(lacking, Standing::Lacking { missing: 1, members: 2 });
    assert_eq!(Standing::of(Some(&book), &[all[0].clone(), alone[0].clone()]), Standing::Whole);
    let split = [without(&all, 1, 104)[0].clone(), alone[0].clone()];
    let apart = Standing::of(Some(&book), &split);
    let drive = split[0].candidate.drive.clone();
    assert_eq!(apart, Standing::Apart { drive: drive.clone() });
    assert_eq!(mixed([&apart, &whole]), None);
    assert_eq!(mixed([&apart, &gone_on]), Some((one, Doubt::Apart { drive })));
}
