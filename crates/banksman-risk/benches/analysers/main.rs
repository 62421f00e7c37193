//! How long reading takes, by analyser: `cargo bench -p banksman-risk [-- FILTER]`.
//!
//! Each has three sets of texts: what agents propose all day, long ones, and hostile ones, which are made to reach
//! the limits. A hostile text costs what the limit on work lets it cost.

mod inputs;

use banksman_core::{Assessment, Kind};
use banksman_risk::{Assessor, Catalogue};
use inputs::Input;
use std::sync::LazyLock;

#[expect(clippy::expect_used, reason = "nothing can be timed without them")]
static ASSESSOR: LazyLock<Assessor> =
    LazyLock::new(|| Assessor::new(Catalogue::builtin().expect("the built-in rules hold")));

fn main() {
    LazyLock::force(&ASSESSOR);
    divan::main();
}

macro_rules! benches {
    ($($name:ident $kind:ident;)*) => {$(
        mod $name {
            use super::*;

            #[divan::bench(args = inputs::typical(Kind::$kind))]
            fn typical(input: &Input) -> Assessment {
                ASSESSOR.assess_text(Kind::$kind, &input.text)
            }

            #[divan::bench(args = inputs::long(Kind::$kind))]
            fn long(input: &Input) -> Assessment {
                ASSESSOR.assess_text(Kind::$kind, &input.text)
            }

            #[divan::bench(args = inputs::hostile(Kind::$kind), sample_count = 9, sample_size = 1)]
            fn hostile(input: &Input) -> Assessment {
                ASSESSOR.assess_text(Kind::$kind, &input.text)
            }
        }
    )*};
}

benches! {
    shell Shell;
    python Python;
    javascript Javascript;
    sql Sql;
    path File;
    url Http;
    tool Tool;
}
