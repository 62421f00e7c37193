//! Scratch: mutates texts and checks that nothing panics, hangs or gets lower by wrapping.
use std::time::Instant;
fn main() {
    let assessor = banksman_risk::Assessor::new(banksman_risk::Catalogue::builtin().unwrap());
    let mut seeds = Vec::new();
    for f in ["shell-near-misses", "shell-everyday", "redcode"] {
        for line in std::fs::read_to_string(format!("/work/shared/corpora/{f}.jsonl")).unwrap().lines() {
            let v: serde_json::Value = serde_json::from_str(line).unwrap();
            if v["kind"] == "shell" {
                seeds.push(v["input"].as_str().unwrap().to_owned());
            }
        }
    }
    let dict: Vec<String> = std::fs::read_to_string("/tmp/risk-shell/fuzz/shell.dict")
        .unwrap()
        .lines()
        .map(|l| l.trim_matches('"').replace("\\\"", "\""))
        .collect();
    let mut s: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let mut rnd = move |n: usize| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s % n.max(1) as u64) as usize
    };
    let until: u64 = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(60);
    let start = Instant::now();
    let (mut n, mut lower, mut slowest) = (0u64, 0u64, 0u128);
    while start.elapsed().as_secs() < until {
        let mut t: Vec<char> = seeds[rnd(seeds.len())].chars().take(600).collect();
        for _ in 0..1 + rnd(6) {
            let at = rnd(t.len() + 1);
            match rnd(5) {
                0 => {
                    let d = &dict[rnd(dict.len())];
                    t.splice(at..at, d.chars());
                }
                1 => {
                    let e = (at + rnd(8)).min(t.len());
                    t.drain(at..e);
                }
                2 => {
                    let o: Vec<char> = seeds[rnd(seeds.len())].chars().collect();
                    let b = rnd(o.len());
                    let e = (b + rnd(40)).min(o.len());
                    t.splice(at..at, o[b..e].iter().copied());
                }
                3 => {
                    let e = (at + rnd(20)).min(t.len());
                    let c = t[at..e].to_vec();
                    t.splice(at..at, c);
                }
                _ => {
                    t.insert(
                        at,
                        ['\'', '"', '\\', '$', '`', '\n', ';', '(', ')', '{', '}', '|', '&', '<', '>', '#']
                            [rnd(16)],
                    );
                }
            }
        }
        let text: String = t.into_iter().filter(|c| *c != '\0').collect();
        let before = Instant::now();
        let bare = assessor.assess_text(banksman_core::Kind::Shell, &text);
        let ms = before.elapsed().as_millis();
        if ms > slowest {
            slowest = ms;
            if ms > 20 {
                println!("SLOW {ms} ms {text:?}");
            }
        }
        let q = text.replace('\'', "'\\''");
        for w in [format!("bash -c '{q}'"), format!("eval '{q}'"), format!("sudo env -i sh -c '{q}'")] {
            let l = assessor.assess_text(banksman_core::Kind::Shell, &w).level;
            if l < bare.level {
                lower += 1;
                if lower < 25 {
                    println!(
                        "LOWER {l} < {} {:?} {text:?}",
                        bare.level,
                        bare.findings.iter().map(|f| f.rule.as_str()).collect::<Vec<_>>()
                    );
                }
                break;
            }
        }
        n += 1;
    }
    println!("{n} texts, {lower} lower, slowest {slowest} ms");
}
