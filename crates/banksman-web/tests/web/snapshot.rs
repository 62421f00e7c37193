//! The pages as they were reviewed, one element a line.

use crate::pages;

fn page(name: &str) -> String {
    let pages = pages::all("<b>words</b>\u{202e}");
    let (_, html) = pages.iter().find(|(known, _)| *known == name).unwrap();
    html.replace("><", ">\n<")
}

#[test]
fn the_inbox_reads_like_this() {
    insta::assert_snapshot!(page("inbox"));
}

#[test]
fn an_action_reads_like_this() {
    insta::assert_snapshot!(page("action"));
}
