//! The published tables.

/// The parameters that the tables vary: trees, levels, start events, data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Case(pub(super) u32, pub(super) u32, pub(super) u32, pub(super) u32);

/// A row of table 1, with copied and with shared data.
pub(super) struct Published {
    pub(super) case: Case,
    pub(super) memory_mb: [f64; 2],
    pub(super) events_per_s: [f64; 2],
    /// The data cache misses per reference of table 2, if the table has them.
    pub(super) misses: Option<[f64; 2]>,
}

const fn row(case: Case, memory_mb: [f64; 2], events_per_s: [f64; 2], misses: Option<[f64; 2]>) -> Published {
    Published { case, memory_mb, events_per_s, misses }
}

pub(super) const TABLE_1: [Published; 12] = [
    row(Case(8, 10, 8, 4), [14.4, 14.8], [377_986.673, 370_801.924], Some([0.0221, 0.0221])),
    row(Case(8, 10, 8, 16), [17.4, 14.8], [350_491.922, 378_053.970], Some([0.0211, 0.0221])),
    row(Case(8, 10, 8, 64), [29.4, 14.8], [336_866.703, 377_541.440], Some([0.0231, 0.0221])),
    row(Case(8, 10, 8, 256), [77.4, 14.9], [330_823.230, 370_219.797], Some([0.0259, 0.0224])),
    row(Case(8, 10, 8, 1024), [269.3, 15.4], [324_083.951, 367_463.726], Some([0.0290, 0.0224])),
    row(Case(16, 10, 4, 4), [19.1, 19.4], [342_921.408, 335_885.514], Some([0.0224, 0.0224])),
    row(Case(16, 10, 4, 16), [22.1, 19.4], [322_796.458, 341_562.543], Some([0.0213, 0.0225])),
    row(Case(16, 10, 4, 64), [34.1, 19.4], [311_617.293, 342_541.110], Some([0.0234, 0.0228])),
    row(Case(16, 10, 4, 256), [82.0, 19.6], [306_166.442, 336_635.595], Some([0.0261, 0.0228])),
    row(Case(16, 10, 4, 1024), [273.9, 20.0], [300_169.391, 333_708.054], Some([0.0293, 0.0229])),
    row(Case(16, 15, 8, 256), [4936.3, 842.0], [137_519.194, 146_734.510], None),
    row(Case(16, 15, 8, 1024), [17224.1, 842.9], [57_867.255, 146_681.164], None),
];

/// Table 3: the speed-up on 2, 3 and 4 processors.
pub(super) const TABLE_3: [(Case, [f64; 3]); 16] = [
    (Case(8, 10, 4, 256), [1.36, 1.95, 2.34]),
    (Case(8, 10, 4, 1024), [1.35, 1.94, 2.32]),
    (Case(8, 10, 8, 256), [1.49, 2.22, 2.73]),
    (Case(8, 10, 8, 1024), [1.48, 2.21, 2.74]),
    (Case(8, 15, 4, 256), [1.56, 2.43, 3.21]),
    (Case(8, 15, 4, 1024), [1.55, 2.43, 3.22]),
    (Case(8, 15, 8, 256), [1.54, 2.41, 3.19]),
    (Case(8, 15, 8, 1024), [1.54, 2.41, 3.19]),
    (Case(16, 10, 4, 256), [1.51, 2.25, 2.80]),
    (Case(16, 10, 4, 1024), [1.51, 2.23, 2.79]),
    (Case(16, 10, 8, 256), [1.59, 2.40, 2.94]),
    (Case(16, 10, 8, 1024), [1.59, 2.43, 2.64]),
    (Case(16, 15, 4, 256), [1.54, 2.42, 3.20]),
    (Case(16, 15, 4, 1024), [1.53, 2.42, 3.20]),
    (Case(16, 15, 8, 256), [1.53, 2.38, 3.06]),
    (Case(16, 15, 8, 1024), [1.54, 2.37, 3.04]),
];

/// Figure 4: the memory by number of levels; trees, start events and data are always the same.
pub(super) const FIGURE_4: std::ops::RangeInclusive<u32> = 5..=15;

pub(super) const fn of_levels(levels: u32) -> Case {
    Case(16, levels, 8, 256)
}
