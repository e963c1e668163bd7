//! A stack in memory that holds data.

use crate::errors::{self, RunError, ScenarioError};
use crate::scenario;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};
use std::sync::{Mutex, PoisonError};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::{Bytes, LayerError, Reports};
use wearwell_stack::{Scenario, Stack};

/// A stack of any page size.
trait DeviceStore: Send {
    fn write(&mut self, first: u32, data: &[u8]) -> Result<(), LayerError>;
    fn read(&mut self, first: u32, count: u32) -> Result<Vec<u8>, LayerError>;
    fn trim(&mut self, first: u32, count: u32) -> Result<(), LayerError>;
    fn flush(&mut self) -> Result<(), LayerError>;
    fn reports(&self) -> Reports;
    fn check(&self) -> Result<(), String>;
}

fn pages(first: u32, count: u32) -> Vec<Lpn> {
    (first..first + count).map(Lpn).collect()
}

impl<const N: usize> DeviceStore for Stack<Bytes<N>> {
    fn write(&mut self, first: u32, data: &[u8]) -> Result<(), LayerError> {
        let (contents, _) = data.as_chunks::<N>();
        let contents: Vec<_> = contents.iter().map(|&page| Bytes(page)).collect();
        self.targets[0].layer.write(&pages(first, contents.len() as u32), &contents, 0)
    }

    fn read(&mut self, first: u32, count: u32) -> Result<Vec<u8>, LayerError> {
        let mut out = Vec::new();
        self.targets[0].layer.read(&pages(first, count), &mut out)?;
        Ok(out.iter().flat_map(|page| page.0).collect())
    }

    fn trim(&mut self, first: u32, count: u32) -> Result<(), LayerError> {
        self.targets[0].layer.trim(&pages(first, count))
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.targets[0].layer.flush()
    }

    fn reports(&self) -> Reports {
        self.describe()
    }

    fn check(&self) -> Result<(), String> {
        Stack::check(self)
    }
}

/// A stack in memory that holds data.
#[pyclass(frozen, module = "wearwell._core")]
pub struct LiveDevice {
    store: Mutex<Box<dyn DeviceStore>>,
    names: Vec<String>,
    logical_pages: u32,
    page_bytes: u32,
    scenario: Scenario,
}

fn build<const N: usize>(scenario: &Scenario) -> PyResult<LiveDevice> {
    let mut scenario = scenario.clone();
    let stack =
        wearwell_stack::build::<Bytes<N>>(&mut scenario).map_err(|error| errors::from_config(&error))?;
    Ok(LiveDevice {
        logical_pages: stack.targets[0].layer.logical_pages(),
        names: stack.names().map(str::to_owned).collect(),
        page_bytes: stack.page_bytes,
        store: Mutex::new(Box::new(stack)),
        scenario,
    })
}

impl LiveDevice {
    fn with_store<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn DeviceStore) -> Result<T, LayerError> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            // The store is consistent between two calls, even if a thread that used it panicked.
            work(&mut **self.store.lock().unwrap_or_else(PoisonError::into_inner))
        });
        done.map_err(|error| RunError::new_err(error.to_string()))
    }

    fn check_range(&self, page: i64, count: i64) -> PyResult<(u32, u32)> {
        let logical_pages = i64::from(self.logical_pages);
        let end = page.checked_add(count);
        if page < 0 || count < 0 || end.is_none_or(|end| end > logical_pages) {
            let last = i128::from(page) + i128::from(count) - 1;
            return Err(PyIndexError::new_err(format!(
                "pages {page} to {last}: the device has pages 0 to {}",
                logical_pages - 1
            )));
        }
        Ok((page as u32, count as u32))
    }
}

#[pymethods]
impl LiveDevice {
    #[new]
    fn new(py: Python<'_>, scenario: &str, max_bytes: u64) -> PyResult<Self> {
        let scenario = scenario::parse(scenario)?;
        py.detach(|| {
            // A stack without data is built first, to determine the sizes before memory is allocated for data.
            let counting =
                wearwell_stack::build::<()>(&mut scenario.clone()).map_err(|error| errors::from_config(&error))?;
            if counting.targets.len() > 1 {
                let message = "tenant: a device has one user; give the scenario one tenant or none";
                return Err(ScenarioError::new_err((message, "tenant")));
            }
            let bytes = counting.device.geometry.bytes();
            let page_bytes = counting.page_bytes;
            drop(counting);
            if bytes > max_bytes {
                let message = format!(
                    "device: {bytes} bytes of flash would be held in memory, and max_bytes is {max_bytes}; choose a \
                     smaller `device.capacity` or raise max_bytes"
                );
                return Err(ScenarioError::new_err((message, "device")));
            }
            match page_bytes {
                512 => build::<512>(&scenario),
                4096 => build::<4096>(&scenario),
                8192 => build::<8192>(&scenario),
                16384 => build::<16384>(&scenario),
                other => Err(ScenarioError::new_err((
                    format!(
                        "device.mapping_unit: is {other} bytes; a device that holds data has pages of 512, 4096, 8192 \
                         or 16384"
                    ),
                    "device.mapping_unit",
                ))),
            }
        })
    }

    #[getter]
    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    #[getter]
    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    #[getter]
    fn scenario(&self) -> String {
        serde_json::to_string(&self.scenario).expect("scenarios are plain data")
    }

    fn write(&self, py: Python<'_>, page: i64, data: &[u8]) -> PyResult<()> {
        let page_bytes = self.page_bytes as usize;
        if data.is_empty() || !data.len().is_multiple_of(page_bytes) {
            return Err(PyValueError::new_err(format!(
                "{} bytes are no whole pages of {page_bytes} bytes",
                data.len()
            )));
        }
        let (first, _) = self.check_range(page, (data.len() / page_bytes) as i64)?;
        self.with_store(py, |store| store.write(first, data))
    }

    #[pyo3(signature = (page, count=1))]
    fn read<'py>(&self, py: Python<'py>, page: i64, count: i64) -> PyResult<Bound<'py, PyBytes>> {
        let (first, count) = self.check_range(page, count)?;
        let data = self.with_store(py, |store| store.read(first, count))?;
        Ok(PyBytes::new(py, &data))
    }

    #[pyo3(signature = (page, count=1))]
    fn trim(&self, py: Python<'_>, page: i64, count: i64) -> PyResult<()> {
        let (first, count) = self.check_range(page, count)?;
        self.with_store(py, |store| store.trim(first, count))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with_store(py, |store| store.flush())
    }

    fn counters(&self, py: Python<'_>) -> PyResult<String> {
        let reports = self.with_store(py, |store| Ok(store.reports()))?;
        let layers = self.names.iter().zip(&reports.layers);
        let layers: Vec<Value> = layers.map(|(name, layer)| layer_counters(name, &layer.counters)).collect();
        let nand = reports.nand.unwrap_or_default();
        let nand = json!({ "programs": nand.programs, "reads": nand.reads, "erases": nand.erases });
        Ok(json!({ "layers": layers, "nand": nand }).to_string())
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.with_store(py, |store| Ok(store.check()))?.map_err(RunError::new_err)
    }
}

fn layer_counters(name: &str, counters: &Counters) -> Value {
    let operations = |amount: &dyn Fn(Operation) -> u64| -> Map<String, Value> {
        let amounts = Operation::ALL.iter().map(|&operation| (operation.name(), amount(operation)));
        amounts
            .filter(|(_, amount)| *amount > 0)
            .map(|(name, amount)| (name.to_owned(), json!(amount)))
            .collect()
    };
    let outgoing = Cause::ALL.iter().map(|&cause| {
        (cause.name().to_owned(), operations(&|operation| counters.outgoing(cause, operation)))
    });
    let outgoing: Map<String, Value> = outgoing
        .filter(|(_, amounts)| !amounts.is_empty())
        .map(|(name, amounts)| (name, amounts.into()))
        .collect();
    json!({
        "name": name,
        "write_amplification": counters.write_amplification(),
        "incoming": operations(&|operation| counters.incoming(operation)),
        "outgoing": outgoing,
    })
}
