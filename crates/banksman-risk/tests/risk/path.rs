//! File actions.

use banksman_core::{Kind, Risk};
use banksman_risk::{Assessor, Catalogue};

#[test]
fn the_built_in_rules_hold() {
    let assessor = Assessor::new(Catalogue::builtin().unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(assessor.assess_text(Kind::File, "read README.md").level, Risk::None);
}
