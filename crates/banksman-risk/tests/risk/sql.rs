//! SQL, across dialects and disguises.

use banksman_core::{Kind, Risk};
use proptest::prelude::*;

use crate::assessor;

fn level(text: &str) -> Risk {
    assessor().assess_text(Kind::Sql, text).level
}

fn explained(text: &str) -> String {
    let found = assessor().assess_text(Kind::Sql, text);
    let rules: Vec<_> = found.findings.iter().map(|finding| finding.rule.as_str()).collect();
    format!("{} {} for {text}", found.level, rules.join(" "))
}

#[test]
fn reading_is_harmless() {
    for text in [
        "SELECT * FROM users",
        "select delete, \"update\", `drop` from t",
        "SELECT t.delete FROM t",
        "SELECT * FROM t WHERE a = 'DROP TABLE users; --'",
        "SELECT 'it''s; DROP TABLE t'",
        "SELECT 'a' /* ; DROP TABLE t */",
        "SELECT a -- ; DROP TABLE t\nFROM t",
        "SELECT $$ DROP TABLE t $$",
        "SELECT $tag$ DELETE FROM t; $$ $tag$",
        "SELECT \"drop table t\" FROM x",
        "SELECT [delete from x] FROM [order details]",
        "SELECT TOP 5 * FROM dbo.users WITH (NOLOCK)",
        "SELECT a::int, b->>'x' FROM t WHERE c @> '{}' LIMIT 5",
        "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT * FROM x",
        "(SELECT 1) UNION (SELECT 2)",
        "VALUES (1), (2)",
        "TABLE users",
        "EXPLAIN SELECT 1",
        "EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM t",
        "EXPLAIN (ANALYZE false) DELETE FROM t",
        "EXPLAIN DELETE FROM t",
        "EXPLAIN FORMAT=JSON UPDATE t SET a = 1",
        "EXPLAIN QUERY PLAN SELECT * FROM t",
        "DESCRIBE users",
        "DESC users",
        "SHOW TABLES",
        "SHOW CREATE TABLE t",
        "USE shop",
        "BEGIN",
        "BEGIN TRANSACTION",
        "START TRANSACTION READ ONLY",
        "COMMIT",
        "ROLLBACK",
        "SET NAMES utf8mb4",
        "SET @x := 1",
        "PRAGMA table_info('t')",
        "PRAGMA main.table_info(t)",
        "SELECT * FROM t FOR UPDATE",
        "SELECT json_extract(a, '$.delete') FROM t",
        "SELECT CASE WHEN a THEN 'update' ELSE 'drop' END FROM t",
        "SELECT * FROM \0 WHERE id = \0 AND name = '\0' LIMIT \0",
        "SELECT 1;",
        "SELECT 1; SELECT 2;;",
        "COPY t TO STDOUT",
        "\\d users",
        "\\dt",
        ".tables",
        ".schema t",
        "SELECT REPLACE(a, 'x', 'y') FROM t",
        "SELECT INSERT('abc', 1, 2, 'x')",
        "SELECT * FROM grants, updates, deletes",
        "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
        "SELECT ARRAY[1,2,3][1]",
        "SELECT * FROM t WHERE d > now() - interval '1 day'",
        "SELECT date_trunc('day', created_at) AS d, count(*) FROM t GROUP BY 1 ORDER BY 1 DESC",
    ] {
        assert!(level(text) <= Risk::Low, "{}", explained(text));
    }
}

/// A function of one's own does whatever was written into it.
#[test]
fn functions_that_did_not_come_with_the_database_are_noticed() {
    for (text, least) in [
        ("SELECT tidy(1)", Risk::Low),
        ("SELECT public.lower('X')", Risk::Low),
        ("SELECT * FROM report(1)", Risk::Low),
        ("SELECT delete_user(1)", Risk::Medium),
        ("SELECT public.drop_all()", Risk::Medium),
        ("SELECT \"sendMail\"('x')", Risk::Medium),
        ("SELECT nextval('s')", Risk::Medium),
        ("SELECT cron.schedule('@daily', 'x')", Risk::Medium),
        ("SELECT * FROM aws_s3.query_export_to_s3('SELECT 1', 'x')", Risk::High),
        ("SELECT utl_http.request('http://example.com/') FROM dual", Risk::High),
        ("SELECT * FROM read_csv('https://example.com/x.csv')", Risk::High),
        ("SELECT * FROM url('http://169.254.169.254/', CSV, 'a String')", Risk::High),
        ("SELECT * FROM 's3://bucket/x.parquet'", Risk::High),
        ("SELECT U&\"\\0070g_read_file\"('/etc/passwd')", Risk::High),
        ("SELECT U&\"!0070g_read_file\" UESCAPE '!' ('/etc/passwd')", Risk::High),
        ("SELECT * FROM read_csv('/etc/shadow')", Risk::High),
    ] {
        assert!(level(text) >= least, "{}", explained(text));
    }
    for text in [
        "SELECT lower(a), count(*), round(avg(b), 2), date_trunc('day', c) FROM t GROUP BY 1",
        "SELECT pg_catalog.lower(a), coalesce(b, 'x'), jsonb_set(c, '{a}', '1') FROM t",
        "SELECT * FROM generate_series(1, 10) g, unnest(ARRAY[1, 2]) u",
        "SELECT ST_Distance(a, b) FROM t WHERE url = 'https://example.com/'",
        "SELECT * FROM read_csv('data/x.csv')",
        "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)",
    ] {
        let found = assessor().assess_text(Kind::Sql, text);
        assert!(
            found.findings.iter().all(|finding| !finding.rule.contains("function")),
            "{}",
            explained(text)
        );
    }
}

#[test]
fn changes_are_seen_through_every_disguise() {
    for (text, least) in [
        ("DELETE FROM t", Risk::High),
        ("delete\nfrom\tt", Risk::High),
        ("/**/DELETE/**/FROM/**/t", Risk::High),
        ("DELETE FROM t WHERE 1=1", Risk::High),
        ("DELETE FROM t WHERE (1) = (1)", Risk::High),
        ("DELETE FROM t WHERE 1", Risk::High),
        ("DELETE FROM t WHERE 'a' = 'a'", Risk::High),
        ("DELETE FROM t WHERE 1 + 1 = 2", Risk::High),
        ("DELETE FROM t WHERE id = id", Risk::High),
        ("DELETE FROM t WHERE t.id >= t.id", Risk::High),
        ("DELETE FROM t WHERE x = 5 OR 1=1", Risk::High),
        ("DELETE FROM t WHERE x IS NULL OR x IS NOT NULL", Risk::High),
        ("DELETE FROM t WHERE NOT (1=2)", Risk::High),
        ("DELETE FROM t WHERE EXISTS (SELECT 1)", Risk::High),
        ("DELETE FROM t WHERE 3 IN (1,2,3)", Risk::High),
        ("DELETE FROM t WHERE 5 BETWEEN 1 AND 10", Risk::High),
        ("DELETE FROM t WHERE name LIKE '%%'", Risk::High),
        ("DELETE FROM t WHERE TRUE IS TRUE", Risk::High),
        ("DELETE FROM t WHERE NULL IS NULL", Risk::High),
        ("DELETE FROM t WHERE id > 0", Risk::High),
        ("DELETE FROM t WHERE id = 5", Risk::Medium),
        ("DELETE t WHERE id = 5", Risk::Medium),
        ("DELETE FROM a USING b WHERE a.id = b.id", Risk::Medium),
        ("UPDATE t SET a = 1", Risk::High),
        ("UPDATE t SET a = 1 WHERE '1'", Risk::High),
        ("UPDATE a JOIN b ON a.id = b.id SET a.x = 1", Risk::Medium),
        ("SELECT 1; DELETE FROM t", Risk::High),
        ("SELECT 1\nGO\nDROP TABLE t\nGO", Risk::High),
        ("SELECT 1 DROP TABLE t", Risk::High),
        ("SELECT * FROM t WHERE a = 1 DELETE FROM t", Risk::High),
        ("SELECT 1 EXEC xp_cmdshell 'dir'", Risk::Critical),
        ("/*!50000 DELETE FROM t */", Risk::High),
        ("SELECT 1 /*!; DROP TABLE t */", Risk::High),
        ("/*M!100100 DROP TABLE t */", Risk::High),
        ("SELECT 1 --1;DROP TABLE t", Risk::High),
        ("SELECT 'a\\'; DROP TABLE t; --'", Risk::High),
        ("SELECT 'a\\\\'; DROP TABLE t", Risk::High),
        ("/* /* */ DROP TABLE t; -- */", Risk::High),
        ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", Risk::High),
        ("WITH x AS (SELECT 1), y AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM y", Risk::High),
        ("WITH x AS (SELECT 1) DELETE FROM t", Risk::High),
        ("WITH x AS (SELECT 1) DROP TABLE t", Risk::High),
        ("EXPLAIN ANALYZE DELETE FROM t", Risk::High),
        ("EXPLAIN (VERBOSE, ANALYZE) DELETE FROM t", Risk::High),
        ("EXPLAIN (ANALYZE true) DELETE FROM t", Risk::High),
        ("EXPLAIN ANALYZE WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", Risk::High),
        ("DESC ANALYZE DELETE FROM t", Risk::High),
        ("BEGIN DELETE FROM t; END", Risk::High),
        ("IF 1=1 DROP TABLE t", Risk::High),
        ("DECLARE @s nvarchar(99) = 'x' EXEC(@s)", Risk::Medium),
        ("EXEC('DROP TABLE t')", Risk::High),
        ("EXECUTE IMMEDIATE 'DROP TABLE t'", Risk::High),
        ("PREPARE s FROM 'DROP TABLE t'", Risk::High),
        ("sp_executesql N'DELETE FROM t'", Risk::High),
        ("DO $$ BEGIN DELETE FROM t; END $$", Risk::High),
        ("DO $x$ BEGIN EXECUTE 'DROP TABLE t'; END $x$", Risk::High),
        ("TRUNCATE a, b", Risk::High),
        ("DROP TABLE a", Risk::High),
        ("DROP DATABASE a", Risk::Critical),
        ("DROP SCHEMA public CASCADE", Risk::Critical),
        ("ALTER TABLE t DROP a", Risk::High),
        ("GRANT ALL ON t TO bob", Risk::High),
        ("CREATE USER bob", Risk::High),
        ("CREATE OR REPLACE FUNCTION f() RETURNS void AS $$ x $$ LANGUAGE plpython3u", Risk::High),
        ("COPY t FROM PROGRAM 'id'", Risk::Critical),
        ("COPY t TO '/tmp/x'", Risk::High),
        ("SELECT * INTO OUTFILE '/tmp/x' FROM t", Risk::High),
        ("SELECT '<?php' INTO DUMPFILE '/var/www/x.php'", Risk::High),
        ("SELECT pg_read_file('/etc/passwd')", Risk::High),
        ("SELECT pg_catalog.pg_read_file('/etc/passwd')", Risk::High),
        ("SELECT \"pg_read_file\"('/etc/passwd')", Risk::High),
        ("SELECT a FROM t WHERE b = (SELECT load_file('/etc/passwd'))", Risk::High),
        ("SELECT lo_export(1, '/tmp/x')", Risk::Critical),
        ("SELECT * FROM dblink('x', 'DROP TABLE t') AS t(a int)", Risk::High),
        ("EXEC master.dbo.xp_cmdshell 'dir'", Risk::Critical),
        ("SELECT load_extension('x')", Risk::Critical),
        ("ATTACH 'x.db' AS y", Risk::Medium),
        ("PRAGMA writable_schema=1", Risk::Medium),
        ("VACUUM INTO '/tmp/x'", Risk::High),
        ("CALL p()", Risk::Medium),
        ("REPLACE INTO t VALUES (1)", Risk::Medium),
        ("INSERT IGNORE INTO t VALUES (1)", Risk::Medium),
        ("INSERT INTO t SELECT * FROM u ON CONFLICT DO NOTHING", Risk::Medium),
        ("LOCK TABLES t WRITE", Risk::Medium),
        ("KILL 1", Risk::High),
        ("SHUTDOWN", Risk::High),
        ("SET GLOBAL a = 1", Risk::High),
        ("SET ROLE x", Risk::High),
        ("RENAME TABLE a TO b", Risk::Medium),
        ("\\! id", Risk::Critical),
        (".shell id", Risk::Critical),
        ("SELECT 1 \n\\! id\n", Risk::Critical),
        ("SELECT '\n\\x'; DROP TABLE t; --'", Risk::High),
        ("DELETE FROM \0 WHERE \0 = \0", Risk::Medium),
        ("DELETE FROM \0", Risk::High),
        ("SELEC 1", Risk::Medium),
        ("this is no SQL", Risk::Medium),
        ("SELECT 'unfinished", Risk::Medium),
        ("SELECT 1 /* unfinished", Risk::Medium),
    ] {
        assert!(level(text) >= least, "{least} wanted: {}", explained(text));
    }
}

#[test]
fn long_chains_are_read_without_running_out_of_stack() {
    let deep = format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    let long = format!("DELETE FROM t WHERE {}1=1", "a = 1 OR ".repeat(20_000));
    let unions = vec!["SELECT 1"; 10_000].join(" UNION ");
    let casts = format!("SELECT 1{}", "::int".repeat(20_000));
    let nots = format!("DELETE FROM t WHERE {} true", "NOT ".repeat(20_000));
    let rows = format!("INSERT INTO t VALUES {}(1)", "(1, 'x'), ".repeat(10_000));
    let dots = format!("SELECT a{} FROM t", ".b".repeat(30_000));
    let brackets = format!("SELECT a{} FROM t", "[1]".repeat(30_000));
    let quotes = "'".repeat(50_001);
    let dollars: String = (0..30_000).map(|n| format!("$a{n}$")).collect();
    let verbs = "update t ".repeat(20_000);
    let runs = "exec 'select 1' ".repeat(10_000);
    let garbage = "a b ( c ) , ".repeat(20_000);
    let begin = std::time::Instant::now();
    for text in [&dollars, &verbs, &runs, &garbage] {
        let _ = level(text);
    }
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    for text in [&deep, &long, &unions, &casts, &nots, &rows, &dots, &brackets, &quotes] {
        let _ = level(text);
    }
    let chain = format!("DELETE FROM t WHERE 1=1 {}", "OR a = 1 ".repeat(300));
    assert!(level(&chain) >= Risk::High);
    assert!(level(&long) >= Risk::Medium);
    assert!(level(&rows) >= Risk::Medium);
}

const STATEMENTS: &[&str] = &[
    "SELECT * FROM t",
    "DELETE FROM t WHERE id = 1",
    "DELETE FROM t",
    "UPDATE t SET a = 'x' WHERE 1=1",
    "DROP TABLE t",
    "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
    "SELECT load_file('/etc/passwd')",
    "GRANT ALL ON t TO x",
    "EXPLAIN ANALYZE DELETE FROM t",
    "EXEC xp_cmdshell 'dir'",
    "COPY t FROM PROGRAM 'x'",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}") {
        let _ = level(&text);
    }

    #[test]
    fn any_mix_of_tokens_is_read(parts in proptest::collection::vec(prop_oneof![
        Just("SELECT"), Just("DELETE"), Just("FROM"), Just("t"), Just("WHERE"), Just("("), Just(")"), Just("'"), Just("\""),
        Just("$$"), Just("/*"), Just("*/"), Just("/*!"), Just("--"), Just("#"), Just("\n"), Just(";"), Just("\\"), Just("["),
        Just("]"), Just("="), Just("1"), Just("EXEC"), Just("WITH"), Just("AS"), Just("`"), Just("ü"), Just("\\!"), Just("GO"),
    ], 0..40), glue in prop_oneof![Just(""), Just(" ")]) {
        let _ = level(&parts.join(glue));
    }

    #[test]
    fn white_space_comments_and_case_never_lower_a_level(
        which in 0..STATEMENTS.len(),
        fills in proptest::collection::vec(prop_oneof![
            Just(" "), Just("\n"), Just("\t "), Just(" /* x */ "), Just(" -- y\n"), Just(" /* ; DROP */ "), Just("/**/")
        ], 24),
        upper in proptest::collection::vec(any::<bool>(), 24),
    ) {
        let statement = STATEMENTS[which];
        let mut text = String::new();
        let mut in_string = false;
        for (at, word) in statement.split(' ').enumerate() {
            if at > 0 {
                text.push_str(if in_string { " " } else { fills[at % fills.len()] });
            }
            let shown = if in_string || word.contains('\'') { word.to_owned() }
                else if upper[at % upper.len()] { word.to_uppercase() } else { word.to_lowercase() };
            in_string ^= word.matches('\'').count() % 2 == 1;
            text.push_str(&shown);
        }
        prop_assert!(level(&text) >= level(statement), "{}", explained(&text));
    }

    #[test]
    fn another_statement_before_or_after_never_lowers_a_level(which in 0..STATEMENTS.len(), other in 0..STATEMENTS.len()) {
        let (statement, other) = (STATEMENTS[which], STATEMENTS[other]);
        let both = format!("{other}; {statement};");
        prop_assert!(level(&both) >= level(statement).max(level(other)), "{}", explained(&both));
    }
}
