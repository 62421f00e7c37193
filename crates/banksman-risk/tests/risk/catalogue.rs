//! The built-in catalogue: it loads, it is broad, and rules of one's own go by the same schema.

use std::time::Instant;

use banksman_core::{Kind, Risk};
use banksman_risk::{Assessor, Catalogue, CatalogueError, RuleSet};

use crate::assessor;

#[test]
fn there_are_more_than_120_rules_of_every_level() {
    let catalogue = assessor().catalogue();
    assert!(catalogue.rules().len() > 120, "{}", catalogue.rules().len());
    for level in [Risk::Low, Risk::Medium, Risk::High, Risk::Critical] {
        assert!(catalogue.rules().filter(|rule| rule.level == level).count() > 10, "{level}");
    }
}

#[test]
fn reasons_are_sentences() {
    for rule in assessor().catalogue().rules() {
        assert!(rule.reason.ends_with('.') && rule.reason.starts_with(char::is_uppercase), "{}", rule.id);
    }
}

#[test]
fn loading_and_proving_is_quick() {
    let before = Instant::now();
    let catalogue = Catalogue::builtin().unwrap();
    let took = before.elapsed();
    // Well under 100 ms when optimised; unoptimised and on a busy machine there is no such promise.
    let most = if cfg!(debug_assertions) { 20_000 } else { 500 };
    assert!(took.as_millis() < most, "{} rules took {took:?}", catalogue.rules().len());
}

#[test]
fn the_catalogue_can_be_written_out_and_read_again() {
    let catalogue = assessor().catalogue();
    let set = RuleSet { rules: catalogue.rules().cloned().collect::<Vec<_>>(), ..RuleSet::default() };
    let json = serde_json::to_string(&set).unwrap();
    // JSON is YAML.
    let again = RuleSet::parse("catalogue.json", &json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
}

#[test]
fn own_programs_and_rules_are_judged_like_built_in_ones() {
    let own = RuleSet::parse(
        "own.yaml",
        "
programs:
  shipit: {subcommands: 1, values: [--env], help: [--help, -h]}
rules:
  - id: own.shipit.production
    level: critical
    reason: It ships to production.
    reversible: false
    when:
      - command: {program: [shipit], subcommand: [now], option: {'-e|--env': [prod*]}, no_flag: [--dry-run]}
    examples:
      matches: [shipit now --env production, sudo shipit --env=prod now]
      differs: [shipit now --env staging, shipit now --env prod --dry-run, shipit now --env prod -h, echo shipit now --env prod]
",
    )
    .unwrap();
    let assessor = Assessor::new(Catalogue::with_rules(own).unwrap());
    let found = assessor.assess_text(Kind::Shell, "bash -c 'cd x && shipit now --env prod'");
    assert_eq!(found.level, Risk::Critical);
    assert!(found.findings.iter().any(|finding| finding.rule == "own.shipit.production"));
}

#[test]
fn a_subcommand_of_a_program_that_has_none_is_an_error() {
    let own = RuleSet::parse(
        "own.yaml",
        "
rules:
  - id: own.shipit
    level: low
    reason: It ships.
    reversible: true
    when: [{command: {program: [shipit], subcommand: [now]}}]
    examples: {matches: [shipit now], differs: [shipit later]}
",
    )
    .unwrap();
    let error = Catalogue::with_rules(own).unwrap_err().to_string();
    assert!(
        error.contains("own.shipit") && error.contains("programs: {shipit: {subcommands: 1}}"),
        "{error}"
    );
}

#[test]
fn every_disproved_example_is_told() {
    let own = RuleSet::parse(
        "own.yaml",
        "
rules:
  - id: own.wrong
    level: low
    reason: It is wrong.
    reversible: true
    when: [{command: {program: [shipit]}}]
    examples: {matches: [ls, shipit], differs: [pwd, shipit now]}
",
    )
    .unwrap();
    let Err(CatalogueError::Disproved(disproofs)) = Catalogue::with_rules(own) else { panic!("accepted") };
    let told: Vec<(&str, &str)> =
        disproofs.iter().map(|disproof| (disproof.problem, disproof.example.as_str())).collect();
    assert_eq!(told, [("should have matched", "ls"), ("should not have matched", "shipit now")]);
}

/// Ways to say the same: a rule for a command sees all of them.
#[test]
fn spellings_do_not_matter() {
    for (rule, commands) in [
        (
            "git.push.force",
            &[
                "git push -uf origin main",
                "git push --for origin x",
                "/usr/bin/git push origin +x:y",
                "GIT.EXE push -f",
            ][..],
        ),
        ("git.branch.delete", &["git branch -fd x", "git branch --delete -f x", "git branch -rD x"][..]),
        (
            "files.rm.recursive-force",
            &["rm -vrf x", "rm --rec --for x", "rm x -rf", "rm -r x -f", "rm -rf -- -x"][..],
        ),
        (
            "docker.privileged",
            &["docker run --volume=/:/h x", "docker container run -v /:/h x", "podman run --privileged x"][..],
        ),
        ("terraform.destroy", &["tofu destroy", "terraform -chdir=x destroy -auto-approve"][..]),
        (
            "kubernetes.delete.much",
            &["kubectl --context=x delete ns y", "k delete --all pods", "kubectl delete -n x pvc y"][..],
        ),
        (
            "aws.delete.data",
            &["aws --profile x s3 rm --recursive s3://b", "aws s3 --region r rb --force s3://b"][..],
        ),
        ("files.windows.delete-tree", &["remove-item -rec -fo src", "Remove-Item src -RECURSE"][..]),
    ] {
        for command in commands {
            let findings = assessor().assess_text(Kind::Shell, command).findings;
            assert!(findings.iter().any(|finding| finding.rule == rule), "{rule} should notice {command:?}");
        }
    }
}

/// What only looks like it.
#[test]
fn near_misses_are_not_noticed() {
    for command in [
        "git commit -m 'git push --force'",
        "git push --force --dry-run",
        "git rm --force --no-force x",
        "git add push --force",
        "git push origin digit-fix",
        "docker run --rm alpine rm --help",
        "docker run alpine ls --privileged",
        "kubectl delete --help",
        "kubectl delete ns x --dry-run=client",
        "terraform plan -destroy",
        "helm uninstall x --dry-run",
        "aws ec2 terminate-instances help",
        "find . -name -delete",
        "npm publish --dry-run",
        "systemctl list-units stop",
        "mkfs.ext4 disk.img",
        "kill -0 123",
    ] {
        let assessment = assessor().assess_text(Kind::Shell, command);
        assert!(
            assessment.level <= Risk::Low,
            "{command:?} is {}: {:?}",
            assessment.level,
            assessment.findings
        );
    }
}

/// What the build has made of the rules, against what is read of the files as a user's own would be.
#[test]
fn the_build_has_lost_nothing_of_the_rules() {
    let mut written = RuleSet::default();
    for entry in std::fs::read_dir("rules").unwrap() {
        let path = entry.unwrap().path();
        // This also compiles every regular expression.
        let text = std::fs::read_to_string(&path).unwrap();
        let part = RuleSet::parse(&path.display().to_string(), &text).unwrap();
        written.programs.extend(part.programs);
        written.rules.extend(part.rules);
    }
    let mut built = RuleSet::builtin().unwrap();
    for set in [&mut written, &mut built] {
        set.rules.sort_by(|one, other| one.id.cmp(&other.id));
    }
    assert!(built.rules.len() > 40);
    assert_eq!(serde_json::to_string(&written).unwrap(), serde_json::to_string(&built).unwrap());
}
