//! A network file. Its form is checked when it is read. Once its parameters are set, it comes to a
//! [`Description`].

use crate::apps;
use crate::draft::{Draft, Quality, select};
use crate::events;
use crate::flows;
use crate::given::{Entry, Fields, Given, Reader, What, at, entries, suggestion};
use crate::links::{add_group, add_links, attach, is_attached_to_several};
use crate::mtu;
use crate::notes;
use crate::parameters::{self, Parameters, with_keys};
use crate::parts::{self, Part};
use crate::queues::Definitions;
use crate::routes;
use crate::shape::{self, FILE_BYTES_MAX, Form, Shape, TABLES, TOP};
use crate::whole;
use parades_config::{
    ConfigError, Parameter, Place, SETTINGS, Settings, Source, Value, Values, inputs, malformed, quoted,
};
use parades_core::time::{Delay, Time};
use parades_packet::description::{
    App, AppKind, Change, Description, Event, Framing, IpVersion, Measure, Unfinished, headers_by_default,
};
use parades_packet::network::Network;
use parades_packet::segment::SegmentRef;
use parades_topology::routing::{Metric, Paths};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::DeTable;

/// The largest number of samples: all are kept until the end of the run.
const SAMPLES_MAX: u64 = 1_000_000;
/// The end of a run, if its file does not give one.
const UNTIL: Delay = Delay::from_secs(10);

/// A network file whose form is right.
#[derive(Clone, Debug)]
pub struct NetworkFile {
    source: Source,
    entries: Arc<Vec<Entry>>,
    /// The file's parameters alone.
    declared: Values,
    parameters: Values,
}

/// A network made from a file.
#[derive(Debug)]
pub struct Built {
    /// The model.
    pub model: Network<SegmentRef>,
    /// The end of the run, unless the user chooses another.
    pub until: Time,
    /// Notes for the user on how it was made, a sentence each.
    pub notes: Vec<String>,
}

impl NetworkFile {
    /// Reads the file at `path`. `None` if it has no key `network`, and so is a file of another kind.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is larger than 256 MiB, and as for [`NetworkFile::parse`].
    pub fn read(path: &Path) -> Result<Option<NetworkFile>, ConfigError> {
        let whole =
            |message: String, help: &str| ConfigError::new(message).with_help(help).at(Place::File(path.to_owned()));
        let bytes = inputs::read(path, FILE_BYTES_MAX).map_err(|error| {
            let reason = inputs::reason(&error);
            whole(format!("cannot be read: {reason}"), "check its name and permissions")
        })?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(whole(
                "is larger than 256 MiB, too large for a network".into(),
                "check that it is the file you meant; long lists of links go into a part of kind `edges`",
            ));
        }
        match String::from_utf8(bytes) {
            Ok(text) => NetworkFile::parse(path, text),
            Err(error) => {
                let place = error.utf8_error().valid_up_to();
                let source = Source::new(path, String::from_utf8_lossy(error.as_bytes()).into_owned());
                Err(at(&source, &(place..place), "the file is not UTF-8 text", "save it as UTF-8"))
            }
        }
    }

    /// Reads `text`, the contents of the file `path`. `None` if it has no key `network`. Paths in the file
    /// are relative to the folder of `path`.
    ///
    /// # Errors
    ///
    /// If the TOML is malformed, a key is unknown, or a parameter is wrong. Mistakes that only the whole
    /// network shows come later.
    pub fn parse(path: &Path, text: String) -> Result<Option<NetworkFile>, ConfigError> {
        // Some editors put a byte order mark at the start. It counts as no column.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let source = Source::new(path, text);
        let entries = {
            let top = DeTable::parse(&source.text).map_err(|error| not_toml(&source, &error))?;
            entries(top.get_ref())
        };
        let place = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.key_span);
        if place("network").is_none() {
            let of_networks = TOP.iter().map(|key| key.name).chain(TABLES.iter().map(|shape| shape.name));
            return match of_networks.filter_map(place).min_by_key(|span| span.start) {
                Some(span) if place("scenario").is_none() => {
                    let message = "this key is one of network files, and the file has no key `network`";
                    Err(at(&source, span, message, "write `network = \"TITLE\"` as its first line"))
                }
                _ => Ok(None),
            };
        }
        for entry in &entries {
            let known = || {
                let settings = SETTINGS.iter().map(Parameter::key).filter(|key| *key != "scenario");
                TOP.iter()
                    .map(|key| key.name)
                    .chain(settings)
                    .chain(TABLES.iter().map(|shape| shape.name))
                    .chain(["parameters"])
            };
            if !known().any(|key| key == entry.key) {
                let message = format!("a network file has no key {}", quoted(&entry.key));
                return Err(at(&source, &entry.key_span, message, suggestion(&entry.key, known())));
            }
        }
        let declared = match entries.iter().find(|entry| entry.key == "parameters").map(|entry| &entry.value) {
            None => Values::new("the network", &[]),
            Some(Given { what: What::Table(own), .. }) => parameters::declared(&source, own, &entries)?,
            Some(Given { what, span }) => {
                let message = format!("`parameters` must be a table, not {}", what.noun());
                return Err(at(
                    &source,
                    span,
                    message,
                    "write `[parameters]` on a line of its own, and the parameters below it",
                ));
            }
        };
        let entries = Arc::new(entries);
        let parameters = with_keys(declared.clone(), Arc::clone(&entries));
        Ok(Some(NetworkFile { source, entries, declared, parameters }))
    }

    /// Returns the file's parameters, with the values in the file.
    pub fn parameters(&self) -> Values {
        self.parameters.clone()
    }

    /// Returns the file's settings of the run, with these values of its parameters.
    ///
    /// # Errors
    ///
    /// If a setting has the wrong type or is out of range.
    pub fn settings(&self, values: &Values) -> Result<Settings, ConfigError> {
        let parameters = self.with(values);
        let reader = Reader { source: &self.source, parameters: &parameters };
        let mut settings = Settings { scenario: "network".to_owned(), ..Settings::default() };
        for parameter in SETTINGS {
            let Some(entry) = self.entry_with(&parameters, parameter.key()) else { continue };
            let value = scalar(reader, &entry.value, parameter)?;
            match (parameter.key(), value) {
                ("seed", Value::Integer(seed)) => settings.seed = Some(seed),
                ("tie_seed", Value::Integer(seed)) => settings.tie_seed = Some(seed),
                ("until", Value::Duration(Delay::ZERO)) => {
                    return Err(reader.error(
                        &entry.value.span,
                        "a run until 0s executes nothing",
                        "give a time above it",
                    ));
                }
                ("until", Value::Duration(until)) => settings.until = Some(Time::from_ps(until.as_ps())),
                ("engine", Value::Text(engine)) => settings.engine = Some(engine),
                ("threads", Value::Integer(threads)) => settings.threads = Some(threads),
                ("processes", Value::Integer(processes)) => settings.processes = Some(processes),
                _ => {}
            }
        }
        Ok(settings)
    }

    /// Returns an error at the value of the setting `key`, such as an unknown engine.
    #[must_use]
    pub fn error_at(&self, key: &str, message: &str, help: &str) -> ConfigError {
        match self.entry(key) {
            Some(entry) => at(&self.source, &entry.value.span, message, help),
            None => ConfigError::new(message).with_help(help),
        }
    }

    /// True if the file has a value or a table of this name.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// Returns the file's title. If it refers to a parameter, the file's value counts.
    pub fn title(&self) -> String {
        let parameters = self.with(&self.parameters);
        let reader = Reader { source: &self.source, parameters: &parameters };
        let found = self.entry("network").and_then(|entry| parameters.look_up(reader, &entry.value).ok());
        match found.map(|found| found.what) {
            Some(What::Text(title) | What::Number(title)) => title,
            _ => String::new(),
        }
    }

    /// Returns these values for the readers of the file's parts.
    fn with(&self, values: &Values) -> Parameters {
        Parameters::new(values, &self.declared, &self.entries)
    }

    /// Returns the entry of a key above all tables, which the command line may set.
    fn entry_with<'a>(&'a self, parameters: &'a Parameters, key: &str) -> Option<&'a Entry> {
        parameters.set(key).or_else(|| self.entry(key))
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Makes the network, with these values of the file's parameters. Random pairs and starts are drawn from
    /// `seed`.
    ///
    /// # Errors
    ///
    /// The first mistake, at its place.
    pub fn build(&self, values: &Values, seed: u64) -> Result<Built, ConfigError> {
        let (description, until, mut notes) = self.describe(values, seed)?;
        if description.apps.is_empty() {
            notes.push("the network has no app, so nothing is sent: add one with `[[app]]`".to_owned());
        }
        let model = Network::described(description).map_err(|why| whole::explain(&self.source, &self.entries, &why))?;
        notes.extend(notes::of_failures(&model, until));
        Ok(Built { model, until, notes })
    }

    /// Returns the files from which parts of the network are read, with these values of the file's
    /// parameters.
    ///
    /// # Errors
    ///
    /// As for [`NetworkFile::build`], in the tables of parts.
    pub fn files(&self, values: &Values) -> Result<Vec<PathBuf>, ConfigError> {
        let parameters = self.with(values);
        let reader = Reader { source: &self.source, parameters: &parameters };
        let parts = Fields::all(reader, &self.entries, &shape::PART)?;
        parts.iter().filter(|part| part.has(shape::FILE.name)).map(parts::path).collect()
    }

    /// Returns the description of the network, the end of its run, and notes. It may have no app.
    ///
    /// # Errors
    ///
    /// As for [`NetworkFile::build`].
    pub fn describe(&self, values: &Values, seed: u64) -> Result<(Description, Time, Vec<String>), ConfigError> {
        let parameters = self.with(values);
        let reader = Reader { source: &self.source, parameters: &parameters };
        let until = self.settings(values)?.until.unwrap_or(Time::from_ps(UNTIL.as_ps()));
        let of = |shape: &'static Shape| Fields::all(reader, &self.entries, shape);
        let tables = TABLES.iter().map(|shape| of(shape)).collect::<Result<Vec<_>, _>>()?.concat();
        let mut notes = Vec::new();
        for fields in &tables {
            notes.extend(fields.check_needs()?);
            for key in shape::QUEUE_KEYS.into_iter().filter(|key| fields.can_have(key)) {
                let queue = fields.table(key, &shape::QUEUE_OF_LINK)?;
                notes.extend(queue.map_or(Ok(Vec::new()), |queue| queue.check_needs())?);
            }
        }
        let mut draft = Draft::default();
        draft.definitions = Definitions::read(&of(&shape::QUEUES)?, &of(&shape::IMPAIRMENTS)?)?;
        let defaults = of(&shape::DEFAULTS)?.pop();
        let of_links =
            defaults.as_ref().map_or(Ok(Quality::default()), |fields| Quality::of(fields, &draft.definitions))?;
        self.nodes(reader, &mut draft)?;
        let groups = of(&shape::GROUP)?;
        // Groups at several nodes come after the parts, whose nodes they may be attached to.
        let early = groups.iter().map(|group| {
            let is_early = !is_attached_to_several(group)?;
            if is_early { add_group(&mut draft, group).map(Some) } else { Ok(None) }
        });
        let early = early.collect::<Result<Vec<_>, _>>()?;
        for part in of(&shape::PART)? {
            notes.extend(Part::add(&mut draft, &part, &of_links)?);
        }
        let members = groups.iter().zip(early).map(|(group, early)| match early {
            Some(nodes) => Ok(nodes),
            None => add_group(&mut draft, group),
        });
        let members = members.collect::<Result<Vec<_>, _>>()?;
        for (group, nodes) in groups.iter().zip(members) {
            attach(&mut draft, group, nodes, &of_links)?;
        }
        for link in of(&shape::LINK)? {
            add_links(&mut draft, &link, &of_links)?;
        }
        if draft.nodes.is_empty() {
            return Err(ConfigError::new("the network has no nodes")
                .with_help("name some: `nodes = [\"a\", \"b\"]`")
                .at(Place::File(self.source.path.clone())));
        }
        let top = self.top(reader)?;
        let packet = defaults.as_ref().map_or(Ok(None), |fields| apps::packet(fields))?;
        let app_tables = of(&shape::APP)?;
        let (apps, of_pairs) = apps::read(&app_tables, &draft, top.ip, packet, seed)?;
        notes.extend(of_pairs);
        let events = events::read(&of(&shape::EVENT)?, &draft)?;
        let measure = self.measure(of(&shape::MEASURE)?.pop(), &draft, &apps, until)?;
        let routes = routes::read(&of(&shape::ROUTE)?, &draft)?;
        notes.extend(notes::unused_parameters(&self.declared, &self.entries));
        notes.extend(notes::of_network(&apps, &events, until));
        notes.extend(notes::of_names(&draft.nodes, &draft.links, &apps));
        notes.extend(notes::of_marks(&draft.links, &apps));
        notes.extend(notes::of_defaults(&tables));
        notes.extend(notes::of_definitions(&tables)?);
        notes.extend(self.of_top(reader, &apps, &events, top.convergence));
        let Draft { nodes, links, mtus, .. } = draft;
        notes.extend(notes::of_overlaps(&events, &nodes, &links, until));
        let has_frames = links.iter().any(|link| link.framing != Framing::None);
        let Top { routing, paths, convergence, ip, headers } = top;
        // The two bytes of PPP are no part of the IP packet.
        let ip_headers = headers.unwrap_or_else(|| headers_by_default(ip, true));
        let headers = headers.unwrap_or_else(|| headers_by_default(ip, has_frames));
        notes.extend(notes::of_buckets(&links, &apps, headers, ip));
        let mut description =
            Description { nodes, links, apps, events, routing, paths, routes, convergence, ip, headers, measure };
        mtu::apply(&mtus, ip_headers, &app_tables, &mut description)?;
        Ok((description, until, notes))
    }

    /// Reads the keys above all tables.
    fn top(&self, reader: Reader<'_>) -> Result<Top, ConfigError> {
        let value = |name: &str| {
            let key = TOP.iter().find(|key| key.name == name).expect("the key is in the list");
            let Form::One(parameter) = &key.form else { panic!("`{name}` is not of one value") };
            match self.entry_with(reader.parameters, name) {
                Some(entry) => scalar(reader, &entry.value, parameter),
                None => Ok(parameter.default_value()),
            }
        };
        value("network")?;
        let routing = if value("routing")? == Value::Choice("hops") { Metric::Hops } else { Metric::Delay };
        let paths = if value("paths")? == Value::Choice("single") { Paths::One } else { Paths::All };
        let convergence = if let Value::Duration(delay) = value("convergence")? { delay } else { Delay::ZERO };
        let ip = match value("ip")? {
            Value::Integer(4) => IpVersion::V4,
            Value::Integer(6) => IpVersion::V6,
            _ => return Err(self.error_at("ip", "there is no such version of IP", "the versions are 4 and 6")),
        };
        let headers = match value("headers")? {
            Value::Size(bytes) => u32::try_from(bytes).ok().filter(|&bytes| bytes <= 1 << 16),
            _ => None,
        };
        let headers = headers.ok_or_else(|| {
            self.error_at("headers", "`headers` is more than a packet can carry", "65536B is the most")
        })?;
        let headers = self.entry_with(reader.parameters, "headers").map(|_| headers);
        Ok(Top { routing, paths, convergence, ip, headers })
    }

    /// Returns notes on keys above all tables that have no effect.
    fn of_top(&self, reader: Reader<'_>, apps: &[App], events: &[Event], convergence: Delay) -> Vec<String> {
        let has = |key: &str| self.entry_with(reader.parameters, key).is_some();
        let is_tcp = |app: &App| matches!(app.kind, AppKind::Tcp(_));
        let (all_tcp, none_tcp) = (apps.iter().all(is_tcp), !apps.iter().any(is_tcp));
        let fails = |event: &Event| !matches!(event.change, Change::Quality { .. });
        let idle = [
            ("headers", all_tcp && !apps.is_empty(), "all apps are of kind `tcp`, which has headers of its own"),
            ("ip", none_tcp && has("headers"), "`headers` gives those of datagrams, and no app is of kind `tcp`"),
            ("convergence", convergence > Delay::ZERO && !events.iter().any(fails), "nothing fails or returns"),
        ];
        let idle = idle.into_iter().filter(|(key, is_idle, _)| *is_idle && has(key));
        idle.map(|(key, _, why)| format!("`{key}` has no effect: {why}")).collect()
    }

    /// Adds the nodes of the key `nodes`.
    fn nodes(&self, reader: Reader<'_>, draft: &mut Draft) -> Result<(), ConfigError> {
        let Some(entry) = self.entry("nodes") else { return Ok(()) };
        let wrong = |given: &Given| {
            let message = format!("`nodes` must be a list of names, not {}", given.what.noun());
            reader.error(&given.span, message, "write `nodes = [\"a\", \"b\"]`")
        };
        let What::List(list) = &entry.value.what else { return Err(wrong(&entry.value)) };
        for given in list {
            let What::Text(name) = reader.parameters.look_up(reader, given)?.what else { return Err(wrong(given)) };
            draft.node(reader, name, &given.span)?;
        }
        Ok(())
    }

    fn measure(
        &self,
        fields: Option<Fields<'_>>,
        draft: &Draft,
        apps: &[App],
        until: Time,
    ) -> Result<Measure, ConfigError> {
        let Some(fields) = fields else {
            return Ok(Measure { samples_max: SAMPLES_MAX, percentiles: true, ..Measure::default() });
        };
        let names = || apps.iter().map(|app| app.name.as_str());
        let numbers: BTreeMap<&str, u32> = names().zip(0..).collect();
        let once = |mut numbers: Vec<u32>| {
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        let every = fields.duration("every")?;
        if let Some(samples) = until.as_ps().checked_div(every.as_ps())
            && samples > SAMPLES_MAX
        {
            let message =
                format!("a sample every {every} makes {samples} of them until {until}, more than {SAMPLES_MAX}");
            return Err(fields.wrong("every", message, "give a longer time"));
        }
        for list in ["links", "apps", "flows"] {
            if fields.has(list) && every == Delay::ZERO {
                return Err(fields.wrong(
                    list,
                    format!("`{list}` are sampled, but nothing says how often"),
                    "add `every = \"100ms\"`",
                ));
            }
        }
        Ok(Measure {
            every,
            samples_max: SAMPLES_MAX,
            links: once(draft.select_links(fields.reader, &fields.texts("links")?)?),
            apps: once(select(fields.reader, "app", &fields.texts("apps")?, names, |name| numbers.get(name).copied())?),
            flows: once(flows::sampled(&fields, apps)?),
            percentiles: fields.boolean("percentiles")?,
            unfinished: match fields.choice("unfinished")? {
                "so-far" => Unfinished::SoFar,
                _ => Unfinished::LeftOut,
            },
        })
    }
}

/// The values of the keys above all tables.
struct Top {
    routing: Metric,
    paths: Paths,
    convergence: Delay,
    ip: IpVersion,
    /// `None` if the file does not give them.
    headers: Option<u32>,
}

/// Reads a value as that of a parameter.
fn scalar(reader: Reader<'_>, given: &Given, parameter: &Parameter) -> Result<Value, ConfigError> {
    let found = reader.parameters.look_up(reader, given)?;
    found.read(parameter).map_err(|error| found.explain(error).at(Place::Spot(reader.source.spot(given.span.clone()))))
}

/// Returns the error of text that is not TOML.
fn not_toml(source: &Source, error: &toml::de::Error) -> ConfigError {
    if error.span().is_some() || !error.message().contains("recursion") {
        return malformed(source, error);
    }
    // The parser gives no place for a name that has too many dots.
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        if line.bytes().filter(|&byte| byte == b'.').count() >= 64 {
            break;
        }
        start += line.len();
    }
    at(source, &(start..start), "malformed TOML: a name of too many parts", "nothing in a network lies so deep")
}
