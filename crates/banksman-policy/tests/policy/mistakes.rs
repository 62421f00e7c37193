//! What no policy may say, and where the message points.

use banksman_policy::Policy;

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, line, column, says) in [
        ("version: 2\n", 1, 10, "version 1"),
        ("version: 1\nruls: []\n", 2, 1, "did you mean \"rules\"?"),
        ("version: 1\ntool: {a: {tier: auto}}\n", 2, 1, "did you mean \"tools\"?"),
        ("version: 1\ntools: {a: auto}\n", 2, 12, "expected a table here, such as {tier: approve}"),
        ("version: 1\nrules:\n- {id: a, teir: auto}\n", 3, 11, "did you mean \"tier\"?"),
        ("version: 1\nrules:\n- {id: a, tier: aprove}\n", 3, 17, "did you mean \"approve\"?"),
        ("version: 1\nrules:\n- {id: a, tool: x}\n", 3, 11, "under `match`"),
        ("version: 1\ntools: {a: {accepts: [x]}}\n", 2, 13, "there is no key \"accepts\" here"),
        (
            "version: 1\nbudgets: {b: {actions: 1, unestimated_usd: 1, over: 1h}}\n",
            2,
            14,
            "goes only with cost_usd",
        ),
        ("version: 1\nrules:\n- {id: a, tier: maybe}\n", 3, 17, "maybe"),
        ("version: 1\nrules:\n- {id: a}\n- {id: a}\n", 4, 8, "two rules"),
        ("version: 1\nrules:\n- {id: a, when: 'args.x >'}\n", 3, 17, "expression"),
        ("version: 1\nrules:\n- {id: a, when: 'arg.x > 1'}\n", 3, 17, "arg"),
        ("version: 1\nrules:\n- id: a\n  match: {args: {x: {regex: '('}}}\n", 4, 21, "regex"),
        ("version: 1\nrules:\n- {id: a, quorum: 0}\n", 3, 3, "quorum"),
        ("version: 1\nrules:\n- {id: a, quorum: 1, roles: [x, y]}\n", 3, 3, "roles"),
        ("version: 1\nrules:\n- {id: a, tier: block, allow_remember: true}\n", 3, 3, "allow_remember"),
        ("version: 1\nrules:\n- {id: a, ttl: quick}\n", 3, 16, "quick"),
        ("version: 1\nrules:\n- {id: a, accepts: ['unread.*']}\n", 3, 21, "could not be read"),
        ("version: 1\ndefaults: {unknown_tool: {tier: auto}}\n", 2, 26, "held or blocked"),
        ("version: 1\ntools: {a: {tier: auto}, a: {tier: block}}\n", 2, 26, "\"a\" is there twice"),
        ("version: 1\nrules:\n- {id: 'a b'}\n", 3, 8, "id is"),
        ("version: 1\nrules:\n- {id: a, match: {args: {x: {gtt: 10}}}}\n", 3, 30, "gtt"),
        ("version: 1\nrules:\n- {id: a, match: {args: {x: {gt: many}}}}\n", 3, 34, "floating point"),
        ("version: 1\nrules:\n- {id: a, match: {args: {x: {gt: 10, lt: 5}}}}\n", 3, 29, "can never match"),
        ("version: 1\nrules:\n- {id: a, match: {args: {x: {regex: '\\b\\B'}}}}\n", 3, 29, "can never match"),
        ("version: 1\nrules:\n- {id: a, match: {args: {/x: 1, x: 2}}}\n", 3, 36, "can never match"),
        ("version: 1\nrules:\n- {id: a, match: {kind: []}}\n", 3, 25, "can never match"),
        ("version: 1\nrules:\n- {id: a, match: {risk: []}}\n", 3, 18, "can never match"),
        ("version: 1\nrules:\n- {id: a, match: {risk: '< none'}}\n", 3, 18, "no risk is"),
        ("version: 1\nrules:\n- {id: a, when: '1 > 2'}\n", 3, 17, "can never match"),
        ("version: 1\nrules:\n- {id: a, when: '1 + 2'}\n", 3, 17, "neither true nor false"),
        ("version: 1\ntime_zone: Mars/Base\n", 2, 12, "no time zone"),
        ("version: 1\nrules:\n- {id: a, match: {time: {}}}\n", 3, 25, "says nothing"),
        ("version: 1\nrules:\n- {id: a, match: {window: {w: {gt: 1}}}}\n", 3, 31, "no window"),
        (
            "version: 1\nwindows: {w: {count: proposals, over: 1h}}\nrules:\n- {id: a, match: {window: {w: {gt: 9, lt: 5}}}}\n",
            4,
            31,
            "can never match",
        ),
        ("version: 1\nwindows: {w: {over: 1h}}\n", 2, 14, "one of count"),
        ("version: 1\nwindows: {w: {over: 1h, sum: amount}}\n", 2, 14, "args.amount"),
        ("version: 1\nwindows: {w: {over: 1h, sum: args.a, per: customer}}\n", 2, 14, "args.something"),
        (
            "version: 1\nwindows: {w: {count: proposals, over: 1h, match: {window: {w: {gt: 1}}}}}\n",
            2,
            63,
            "depend",
        ),
        ("version: 1\nroutes: {r: [{to: [ann]}]}\n", 2, 15, "to"),
        ("version: 1\nroutes: {r: []}\n", 1, 10, "leads nowhere"),
        ("version: 1\nroutes: {r: [{people: [' ']}]}\n", 2, 14, "have a name"),
        ("version: 1\nroutes: {r: [{}]}\ntools: {a: {tier: approve, route: s}}\n", 3, 35, "no route"),
        ("version: 1\nroutes: {r: [{}]}\nrules: [{id: a, tier: approve, route: s}]\n", 3, 39, "no route"),
        ("version: 1\nroutes: {r: [{match: {window: {w: {gt: 1}}}}]}\n", 2, 35, "depend"),
        ("version: 1\nenforcement: maybe\n", 2, 14, "maybe"),
        ("version: 1\nsolo_operator: ' '\n", 2, 16, "names one person"),
        ("version: 1\nsolo_operator: true\n", 2, 16, "names one person"),
        ("version: 1\nmodes: {fallback: {failures: 0, within: 1h}}\n", 2, 19, "at least one"),
        ("version: 1\nmodes: {change_to: {shadow: {roles: ['']}}}\n", 2, 29, "has a name"),
        ("version: 1\nmodes: {change_to: {dream: {}}}\n", 2, 21, "dream"),
        ("version: 1\ntools: {a: {escalation: [{after: 1m}]}}\n", 2, 26, "either"),
        ("version: 1\ntools: {a: {escalation: [{after: 1m, notify: again, hand_to: b}]}}\n", 2, 26, "either"),
        ("version: 1\ntools: {a: {escalation: [{after: 1m, notify: never}]}}\n", 2, 46, "never"),
        ("version: 1\ntools: {a: {escalation: [{after: 1m, hand_to: ' '}]}}\n", 2, 26, "names a role"),
        (
            "version: 1\ntools: {a: {escalation: [{after: 2m, notify: again}, {after: 2m, notify: again}]}}\n",
            2,
            54,
            "later",
        ),
        (
            "version: 1\ntools: {a: {timeout: 5m, escalation: [{after: 5m, notify: again}]}}\n",
            2,
            39,
            "expired",
        ),
        (
            "version: 1\ntools: {a: {tier: auto, escalation: [{after: 5m, notify: again}]}}\n",
            2,
            38,
            "approve or escalate",
        ),
        ("version: 1\ntools: {a: {allow_remember: {fro: 8h}}}\n", 2, 30, "fro"),
        ("version: 1\ntools: {a: {allow_remember: 8h}}\n", 2, 13, "true, false, or bounds"),
        ("version: 1\ntools: {a: {allow_remember: {uses: 0}}}\n", 2, 29, "say `false`"),
        ("version: 1\ntools: {a: {extra_people: 17}}\n", 2, 12, "at most 16"),
        ("version: 1\nredact: [a..b]\n", 2, 10, "no path"),
        ("version: 1\nrules:\n- {id: a, redact: ['']}\n", 3, 3, "no path"),
        ("version: 1\ntriage: {timeout: 5s}\n", 2, 9, "one of command"),
        ("version: 1\ntriage: {command: [x], tiers: [block]}\n", 2, 9, "stays blocked"),
        ("version: 1\ntriage: {webhook: {url: 'ftp://x'}}\n", 2, 9, "https://"),
        ("version: 1\nbudgets: {b: {over: 1h}}\n", 2, 14, "one of cost_usd"),
        ("version: 1\nbudgets: {b: {cost_usd: 1}}\n", 2, 14, "needs `over`"),
        ("version: 1\nbudgets: {b: {cost_usd: 1, over: 1h, at_limit: notify}}\n", 2, 14, "held or blocked"),
    ] {
        let error = Policy::parse("p.yaml", text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        let shown = error.to_string();
        assert!(error.problem().contains(says), "{text}\n{shown}");
        assert_eq!((error.place().line, error.place().column), (line, column), "{text}\n{shown}");
        assert!(shown.contains(&format!("p.yaml:{line}:{column}: ")) && shown.contains('^'), "{shown}");
    }
}

#[test]
fn an_empty_file_is_no_policy() {
    assert!(Policy::parse("p.yaml", "").is_err());
}
