//! What was measured, beside what it is measured by.

use crate::load::Figures;

pub(crate) struct Table(Vec<Row>);

struct Row {
    clients: usize,
    name: String,
    is_hop: bool,
    figures: Figures,
}

impl Table {
    pub(crate) fn new() -> Self {
        println!(
            "| clients | target | calls/s | of the bare proxy | p50 ms | p99 ms | p50 over direct, ms | hop's CPU, us a call | of the bare proxy |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, clients: usize, name: &str, is_hop: bool, figures: Figures) {
        self.0.push(Row { clients, name: name.to_owned(), is_hop, figures });
    }

    fn of(&self, clients: usize, name: &str) -> Option<Figures> {
        self.0.iter().find(|row| row.clients == clients && row.name.starts_with(name)).map(|row| row.figures)
    }

    pub(crate) fn print(&self, clients: usize) {
        let (Some(direct), Some(bare)) = (self.of(clients, "direct"), self.of(clients, "bare proxy")) else {
            return;
        };
        for row in self.0.iter().filter(|row| row.clients == clients) {
            let Figures { per_second, p50, p99, cpu } = row.figures;
            let share = per_second / bare.per_second;
            let (over, cpu, times) = if row.is_hop {
                let times = if bare.cpu > 0.0 { format!("{:.2}", cpu / bare.cpu) } else { String::new() };
                (format!("{:.3}", p50 - direct.p50), format!("{cpu:.0}"), times)
            } else {
                Default::default()
            };
            println!(
                "| {clients} | {} | {per_second:.0} | {share:.2} | {p50:.3} | {p99:.3} | {over} | {cpu} | {times} |",
                row.name
            );
        }
    }

    /// What we wanted, and what it is.
    pub(crate) fn print_targets(&self) {
        let figure = |clients, name| self.of(clients, name);
        println!();
        if let (Some(ours), Some(direct)) = (figure(1, "banksman"), figure(1, "direct")) {
            println!("one client: {:.3} ms over direct (target 0.5)", ours.p50 - direct.p50);
        }
        if let Some(ours) = figure(64, "banksman") {
            println!("64 clients: {:.0} calls/s (target 10000)", ours.per_second);
            if let Some(typed) = figure(64, "typed") {
                println!(
                    "64 clients: {:.2} times the typed hop (target 2)",
                    ours.per_second / typed.per_second
                );
            }
            if let Some(bare) = figure(64, "bare proxy") {
                println!("64 clients: {:.2} times the bare proxy's CPU (target 2.5)", ours.cpu / bare.cpu);
            }
        }
    }
}
