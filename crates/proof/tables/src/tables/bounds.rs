//! `bench bounds`: partitions with bounds of their own beside one bound for all, where lookaheads differ.

use super::phold::stat;
use crate::record::Figure;
use crate::sides::{Ran, Side, cores, in_turn};
use crate::variants::VARIANTS;
use crate::{Measured, Options};
use parades_catalog::add_variants;
use parades_report::drawing::table;
use parades_session::{Failure, Plan, Recording, Request, run};
use std::cell::Cell;
use std::fmt::Write as _;
use std::fs;
use tempfile::TempDir;

/// The delays of the links of a ring of campuses, in milliseconds.
const RING_MS: [u32; 8] = [2, 200, 150, 120, 5, 3, 100, 80];
/// The campuses with long links.
const FAR: [usize; 3] = [2, 3, 7];
/// All campuses.
const ALL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const THREADS: u64 = 2;

/// Returns a ring of campuses. Their links differ. The campuses `busy` send.
fn ring(busy: &[usize]) -> String {
    let mut text = "network = \"a ring of campuses\"\nuntil = \"100s\"\n".to_owned();
    let names: Vec<String> = (0..RING_MS.len()).map(|number| format!("\"gw{number}\"")).collect();
    writeln!(text, "nodes = [{}]\n[defaults]\nrate = \"100Mbps\"\ndelay = \"50us\"", names.join(", ")).expect("a text");
    for (number, ms) in RING_MS.iter().enumerate() {
        let next = (number + 1) % RING_MS.len();
        write!(
            text,
            "[[group]]\nname = \"c{number}\"\nsize = 32\nattach = \"gw{number}\"\n\
             [[link]]\nfrom = \"gw{number}\"\nto = \"gw{next}\"\nrate = \"1Gbps\"\ndelay = \"{ms}ms\"\n"
        )
        .expect("a text");
    }
    for number in busy {
        write!(
            text,
            "[[app]]\nname = \"in{number}\"\nkind = \"poisson\"\nfrom = \"c{number}.*\"\nto = \"c{number}.*\"\n\
             pairs = \"random\"\nrate = \"2Mbps\"\n\
             [[app]]\nname = \"out{number}\"\nkind = \"poisson\"\nfrom = \"c{number}.0\"\nto = [\"c2.1\", \"c3.1\", \"c7.1\"]\n\
             pairs = \"all\"\nrate = \"100kbps\"\n"
        )
        .expect("a text");
    }
    text
}

/// Returns a fat tree under load on one pod.
fn fat_tree() -> String {
    "network = \"a fat tree with load on one pod\"\nuntil = \"50ms\"\n\
     [defaults]\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
     [[part]]\nname = \"t\"\nkind = \"fat-tree\"\narity = 16\n\
     [[app]]\nname = \"pod\"\nkind = \"poisson\"\nfrom = \"t.host.0.*\"\nto = \"t.host.0.*\"\npairs = \"random\"\n\
     rate = \"3Gbps\"\n"
        .to_owned()
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    if cores() < THREADS {
        let text = "one core is available: nobody waits for anybody\n".to_owned();
        return Ok(Measured { text, ..Measured::default() });
    }
    add_variants(VARIANTS);
    let folder = TempDir::new().map_err(|error| Failure::simulation(error.to_string()))?;
    let mut drawn = table(&[
        "network",
        "threads",
        "windows, one bound",
        "windows, own bounds",
        "time, own over one",
        "own over sequential",
    ]);
    let mut figures = Vec::new();
    let networks = [
        ("ring, long links busy", ring(&FAR), THREADS),
        ("ring, all busy", ring(&ALL), THREADS),
        ("ring, all busy, crowded", ring(&ALL), ALL.len() as u64),
        ("fat tree, one pod", fat_tree(), THREADS),
    ];
    for (name, text, threads) in networks {
        let path = folder.path().join(format!("{}.toml", name.replace([' ', ','], "-")));
        fs::write(&path, text).map_err(|error| Failure::simulation(error.to_string()))?;
        let plan = |engine: &str, tune: &[&str]| {
            let mut request = Request::of(path.to_string_lossy());
            (request.engine, request.threads) = (Some(engine.to_owned()), (engine == "window").then_some(threads));
            request.tune = tune.iter().map(|&setting| setting.to_owned()).collect();
            Plan::of(&request)
        };
        let plans = [
            plan("sequential", &[])?,
            plan("window", &["bounds=common", "retreat=false"])?,
            plan("window", &["bounds=own", "retreat=false"])?,
        ];
        let windows = &[const { Cell::new(0.0) }; 3];
        let mut sides: Vec<Side<'_>> = Vec::new();
        for (plan, windows) in plans.iter().zip(windows) {
            sides.push(Box::new(move || {
                let finished = run(plan, &plan.choice()?, Recording::default(), &mut ())?;
                let outcome = &finished.outcome;
                if finished.choice.engine.is_parallel() {
                    windows.set(stat(outcome, "windows"));
                }
                Ok(Ran { events: outcome.events, seconds: finished.run_wall.as_secs_f64(), answer: outcome.digest })
            }));
        }
        let rates = in_turn(name, pairs, &mut sides)?;
        drop(sides);
        // All sides execute the same events, so the ratio of times is the inverse ratio of rates.
        let (over_one, over_sequential) = (rates.ratio(1, 2), rates.ratio(0, 2));
        let [_, one, own] = windows.each_ref().map(|windows| format!("{:.0}", windows.get()));
        drawn.add_row([name.to_owned(), threads.to_string(), one, own, over_one.show(2), over_sequential.show(2)]);
        figures.push(Figure { name: format!("{name}, time of own bounds over one bound"), spread: over_one });
        figures.push(Figure { name: format!("{name}, time of own bounds over sequential"), spread: over_sequential });
    }
    let text = format!(
        "window without retreat; a ring of {} campuses with links of {} to {} ms; a fat tree of 1024 hosts with links of 1 us, \
         of which one pod is busy; a row with more threads than cores tells of windows, not of time\n{drawn}\n",
        RING_MS.len(),
        RING_MS.iter().min().expect("there are links"),
        RING_MS.iter().max().expect("there are links"),
    );
    Ok(Measured { text, figures })
}
