//! The queues and impairments of a network that is written out in full.

use super::{float, key};
use crate::queues::{CELLS, ISOLATIONS, UNBOUNDED};
use parades_config::toml_string;
use parades_config::units::{format_duration, format_rate, format_size};
use parades_packet::description::Link;
use parades_packet::impairment::{Bursts, Impairments, Jitter};
use parades_packet::queue::{Cake, Codel, Discipline, QueueLimit, Red};
use std::collections::BTreeMap;

/// The definitions to which links refer, with the numbers in their names.
pub(super) struct Definitions {
    /// Disciplines, and the packets in the device below them.
    queues: BTreeMap<(Discipline, u32), usize>,
    impairments: BTreeMap<Impairments, usize>,
}

impl Definitions {
    /// Finds the queues and impairments that need a definition. A drop-tail queue needs none.
    pub(super) fn of(links: &[Link]) -> Definitions {
        let mut definitions = Definitions { queues: BTreeMap::new(), impairments: BTreeMap::new() };
        for link in links {
            let back = link.back.iter().map(|back| (&back.queue, back.device));
            for (queue, device) in back.chain([(&link.queue, link.device)]) {
                if !(matches!(queue, Discipline::DropTail(_)) && device == 0) {
                    let next = definitions.queues.len() + 1;
                    definitions.queues.entry((queue.clone(), device)).or_insert(next);
                }
            }
            if !link.impairments.is_none() {
                let next = definitions.impairments.len() + 1;
                definitions.impairments.entry(link.impairments).or_insert(next);
            }
        }
        definitions
    }

    /// Writes all tables.
    pub(super) fn write(&self, text: &mut String) {
        for ((discipline, device), number) in &self.queues {
            text.push_str("\n[[queue]]\n");
            key(text, "name", &toml_string(&queue_name(*number)));
            queue(text, discipline);
            if *device > 0 {
                key(text, "device", &device.to_string());
            }
        }
        for (of, number) in &self.impairments {
            text.push_str("\n[[impairment]]\n");
            key(text, "name", &toml_string(&impairment_name(*number)));
            impairments(text, of);
        }
    }

    /// Writes the keys by which a link refers to its queues and impairments.
    pub(super) fn name(&self, text: &mut String, link: &Link) {
        let mut queue =
            |name: &str, queue: &Discipline, device| match (self.queues.get(&(queue.clone(), device)), queue) {
                (Some(number), _) => key(text, name, &toml_string(&queue_name(*number))),
                (None, Discipline::DropTail(of)) => limit(text, name, *of),
                (None, other) => unreachable!("the queue {other:?} has no definition"),
            };
        queue("queue", &link.queue, link.device);
        if let Some(back) = &link.back {
            queue("queue_back", &back.queue, back.device);
        }
        if let Some(number) = self.impairments.get(&link.impairments) {
            key(text, "impairment", &toml_string(&impairment_name(*number)));
        }
    }
}

fn queue_name(number: usize) -> String {
    format!("queue-{number}")
}

fn impairment_name(number: usize) -> String {
    format!("impairment-{number}")
}

fn limit(text: &mut String, name: &str, limit: QueueLimit) {
    match limit {
        QueueLimit::UNBOUNDED => key(text, name, &toml_string(UNBOUNDED)),
        QueueLimit::Packets(packets) => key(text, name, &packets.to_string()),
        QueueLimit::Bytes(bytes) => key(text, name, &toml_string(&format_size(bytes))),
    }
}

fn queue(text: &mut String, discipline: &Discipline) {
    let mut kind = |kind: &str, of| {
        key(text, "kind", &toml_string(kind));
        limit(text, "limit", of);
    };
    match discipline {
        Discipline::DropTail(limit) => kind("droptail", *limit),
        Discipline::Red(of) => {
            kind("red", of.limit);
            red(text, of);
        }
        Discipline::Pie(of) => {
            kind("pie", of.limit);
            for (name, time) in [("target", of.target), ("update", of.update), ("burst", of.burst)] {
                key(text, name, &toml_string(&format_duration(time)));
            }
            key(text, "mean_packet", &toml_string(&format_size(of.mean_packet.into())));
            key(text, "ecn", &of.marks.to_string());
        }
        Discipline::Threshold(of) => {
            kind("dctcp", of.limit);
            key(text, "mark_at", &of.mark_at.to_string());
        }
        Discipline::TokenBucket(of) => {
            kind("token-bucket", of.limit);
            key(text, "rate", &toml_string(&format_rate(of.rate_bps)));
            key(text, "burst", &toml_string(&format_size(of.burst_bytes)));
        }
        Discipline::Codel(of) => {
            kind("codel", of.limit);
            codel(text, of);
        }
        Discipline::FairCodel(of) => {
            kind("fqcodel", of.codel.limit);
            codel(text, &of.codel);
            key(text, "queues", &of.queues.to_string());
            key(text, "quantum", &toml_string(&format_size(of.quantum.into())));
            key(text, "memory", &toml_string(&format_size(of.memory)));
        }
        Discipline::Cake(of) => {
            kind("cake", of.limit);
            cake(text, of);
        }
        Discipline::Priority(of) => kind("priority", of.limit),
        // The name and nothing else: only its crate knows its parameters.
        Discipline::Other(of) => key(text, "kind", &toml_string(of.name())),
    }
}

fn cake(text: &mut String, cake: &Cake) {
    key(text, "isolation", &toml_string(word(&ISOLATIONS, cake.isolation)));
    key(text, "rtt", &toml_string(&format_duration(cake.rtt)));
    if let Some(rate) = cake.rate_bps {
        key(text, "bandwidth", &toml_string(&format_rate(rate)));
        key(text, "overhead", &cake.overhead.to_string());
        key(text, "mpu", &cake.mpu.to_string());
        key(text, "cells", &toml_string(word(&CELLS, cake.cells)));
        key(text, "mtu", &toml_string(&format_size(cake.mtu.into())));
    }
    key(text, "ingress", &cake.is_ingress.to_string());
    key(text, "ecn", &cake.marks.to_string());
    key(text, "queues", &cake.queues.to_string());
    if let Some(memory) = cake.memory {
        key(text, "memory", &toml_string(&format_size(memory)));
    }
}

/// Returns the word for a value.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, of)| *of == value).expect("every value has a word").0
}

fn red(text: &mut String, red: &Red) {
    key(text, "min", &float(red.min_average_milli as f64 / 1000.0));
    key(text, "max", &float(red.max_average_milli as f64 / 1000.0));
    key(text, "probability", &float(red.max_probability.get()));
    key(text, "weight", &float(red.weight.get()));
    key(text, "gentle", &red.is_gentle.to_string());
    key(text, "wait", &red.waits.to_string());
    key(text, "mean_packet", &toml_string(&format_size(red.mean_packet.into())));
    key(text, "ecn", &red.marks.to_string());
}

fn codel(text: &mut String, codel: &Codel) {
    key(text, "target", &toml_string(&format_duration(codel.target)));
    key(text, "interval", &toml_string(&format_duration(codel.interval)));
    key(text, "mtu", &toml_string(&format_size(codel.mtu.into())));
    key(text, "ecn", &codel.marks.to_string());
}

fn impairments(text: &mut String, of: &Impairments) {
    let mut jitter = |duration, distribution: &str| {
        key(text, "jitter", &toml_string(&format_duration(duration)));
        key(text, "distribution", &toml_string(distribution));
    };
    match of.jitter {
        Jitter::None => {}
        Jitter::Uniform { most } => jitter(most, "uniform"),
        Jitter::Normal { mean, deviation } => {
            jitter(mean, "normal");
            key(text, "deviation", &toml_string(&format_duration(deviation)));
        }
        Jitter::Pareto { scale, shape_milli } => {
            jitter(scale, "pareto");
            key(text, "shape", &float(f64::from(shape_milli) / 1000.0));
        }
    }
    if of.keeps_order {
        key(text, "keep_order", "true");
    }
    key(text, "reorder", &float(of.reorder.get()));
    key(text, "duplicate", &float(of.duplicate.get()));
    if let Some(Bursts { to_bad, to_good, loss_good, loss_bad }) = of.bursts {
        for (name, probability) in
            [("to_bad", to_bad), ("to_good", to_good), ("loss_good", loss_good), ("loss_bad", loss_bad)]
        {
            key(text, name, &float(probability.get()));
        }
    }
}
