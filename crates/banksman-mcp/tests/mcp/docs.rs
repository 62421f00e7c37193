//! Every example in the documentation loads.

use banksman_mcp::Config;
use banksman_policy::Policy;

#[test]
fn every_example_loads() {
    let page = std::fs::read_to_string("../../docs/mcp.md").unwrap();
    let examples: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 2);
    // The variable is the reader's own.
    let config = examples[0].replace("{env: TICKETS_TOKEN}", "secret");
    Config::parse("docs/mcp.md", &config).unwrap();
    Policy::parse("docs/mcp.md", examples[1]).unwrap();
}
