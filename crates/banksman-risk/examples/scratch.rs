//! Scratch: prints findings for texts separated by a line of three dashes.
use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let assessor = banksman_risk::Assessor::new(banksman_risk::Catalogue::builtin().unwrap());
    for case in text.trim_end().split("\n---\n") {
        let a = assessor.assess_text(banksman_core::Kind::Shell, case);
        println!("{:<8} {}", a.level.to_string(), case.replace('\n', "⏎"));
        for f in &a.findings {
            let s = f.span.map(|s| case.get(s.start as usize..s.end as usize).unwrap_or("?"));
            println!("            {} {} {:?}", f.level, f.rule, s);
        }
        println!("            {:?}", a.resources);
    }
}
