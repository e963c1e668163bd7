//! No cyclic dependencies between files: of two files of a crate, or of the Python package, at most one needs the
//! other, directly or indirectly.
//!
//! A file needs another file if it names an item defined there, directly or through a re-export by the root of a folder
//! (`mod.rs`, or the file with the folder's name). A root's knowledge of its own folder does not count.
//! In Python, imports in functions and imports for type checking count too.

use crate::common::root;
use crate::tidy::files;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Allowed cycles, each with the files of one crate and a reason.
const ALLOWED_CYCLES: &[(&str, &[&str], &str)] = &[
    ("engine", &["ftl/hybrid/bast", "ftl/hybrid/fast", "ftl/hybrid/write"], "one type, `Hybrid`"),
    ("engine", &["log/checkpoint", "log/clean", "log/store"], "one type, `LogStore`"),
    ("workload", &["config", "mixed", "phases"], "one type, `WorkloadConfig`, which contains itself"),
];

/// Path of a module from the root of its crate.
type Module = Vec<String>;

/// Modules that each module needs.
type Needs = BTreeMap<Module, BTreeSet<Module>>;

/// Modules of a crate: the source of each, and the items that each re-exports by name.
struct Crate {
    code: BTreeMap<Module, String>,
    reexports: BTreeMap<(Module, String), Module>,
}

impl Crate {
    fn read(folder: &Path) -> Crate {
        let mut code = BTreeMap::new();
        walk(folder, &mut Vec::new(), &mut code);
        let mut sources = Crate { code, reexports: BTreeMap::new() };
        let modules: Vec<Module> = sources.code.keys().cloned().collect();
        for module in modules {
            for (path, shows) in use_paths(&sources.code[&module]) {
                let Some(full) = sources.absolute(&module, &path).filter(|_| shows) else { continue };
                let name = full.last().expect("a path has steps").clone();
                sources.reexports.insert((module.clone(), name), full);
            }
        }
        sources
    }

    /// Resolves a path in `module` from the root of the crate; `None` if it leads out of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        let mut steps = path.iter().peekable();
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                steps.next();
            }
            "super" | "self" => {
                while let Some(step) = steps.next_if(|step| ["super", "self"].contains(&step.as_str())) {
                    if step == "super" {
                        base.pop();
                    }
                }
            }
            first => {
                let child: Module = module.iter().cloned().chain([first.to_owned()]).collect();
                self.code.get(&child)?;
            }
        }
        Some(base.into_iter().chain(steps.cloned()).collect())
    }

    /// Returns the module that defines the item of a path.
    fn defining_module(&self, path: &[String], max_reexports: usize) -> Module {
        let known = (0..=path.len()).rev().find(|&length| self.code.contains_key(&path[..length]));
        let length = known.expect("the root is a module");
        let module = path[..length].to_vec();
        let shown = path.get(length).and_then(|name| self.reexports.get(&(module.clone(), name.clone())));
        match shown {
            Some(full) if full[..] != *path && max_reexports > 0 => {
                let rest = path[length + 1..].iter().cloned();
                self.defining_module(&full.iter().cloned().chain(rest).collect::<Vec<_>>(), max_reexports - 1)
            }
            _ => module,
        }
    }

    /// Returns the modules that each module needs.
    fn needs(&self) -> Needs {
        let needed = |module: &Module, code: &str| -> BTreeSet<Module> {
            let paths = use_paths(code).into_iter().map(|(path, _)| path).chain(named_paths(code));
            let defining_modules =
                paths.filter_map(|path| Some(self.defining_module(&self.absolute(module, &path)?, 8)));
            defining_modules.filter(|home| !home.starts_with(module)).collect()
        };
        self.code.iter().map(|(module, code)| (module.clone(), needed(module, code))).collect()
    }
}

/// Returns the cycles, each with its files in order.
fn cycles(needs: &Needs) -> Vec<Vec<String>> {
    let reached = |from: &Module| {
        let mut found: BTreeSet<Module> = BTreeSet::new();
        let mut next: Vec<&Module> = vec![from];
        while let Some(module) = next.pop() {
            for other in needs.get(module).into_iter().flatten() {
                if found.insert(other.clone()) {
                    next.push(other);
                }
            }
        }
        found
    };
    let all: BTreeMap<&Module, BTreeSet<Module>> =
        needs.keys().map(|module| (module, reached(module))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (module, others) in &all {
        let back = others.iter().filter(|other| all[other].contains(*module));
        let cycle: Vec<String> = back.map(|other| other.join("/")).collect();
        if cycle.len() > 1 && !circles.contains(&cycle) {
            circles.push(cycle);
        }
    }
    circles
}

/// Reads every file of a folder, except tests.
fn walk(folder: &Path, module: &mut Module, code: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "tests" || name == "bin" {
            continue;
        }
        let is_face = ["mod", "lib", "main"].contains(&name.as_str());
        if !is_face {
            module.push(name);
        }
        if path.is_dir() {
            walk(&path, module, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            let tested = lines.clone().collect::<Vec<_>>().join("\n");
            let end = tested.find("#[cfg(test)]\nmod tests {").unwrap_or(tested.len());
            code.insert(module.clone(), tested[..end].to_owned());
        }
        if !is_face {
            module.pop();
        }
    }
}

/// Returns the paths in `use` declarations, and whether each is re-exported.
fn use_paths(code: &str) -> Vec<(Vec<String>, bool)> {
    let mut found = Vec::new();
    let mut statement: Option<String> = None;
    for line in code.lines() {
        let text = line.trim();
        let begins = text.starts_with("use ")
            || text.starts_with("pub use ")
            || text.starts_with("pub(") && text.contains(") use ");
        match &mut statement {
            Some(open) => open.push_str(text),
            None if begins => statement = Some(text.to_owned()),
            None => continue,
        }
        if text.ends_with(';') {
            let complete = statement.take().expect("a statement is open");
            let (before, paths) = complete.trim_end_matches(';').split_once("use ").expect("it begins so");
            let shows = before.starts_with("pub");
            found.extend(expand(paths).into_iter().map(|path| (path, shows)));
        }
    }
    found
}

/// Expands a tree of paths in braces to single paths.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let Some((before, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![
            path.split("::").map(|step| step.trim().to_owned()).filter(|step| step != "self").collect(),
        ];
    };
    let group = group.trim_end();
    let group = group.strip_suffix('}').unwrap_or(group);
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices().chain([(group.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = group[start..at].trim();
                if !part.is_empty() {
                    found.extend(expand(&format!("{before}{part}")));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// Returns the paths that the code names outside `use`.
fn named_paths(code: &str) -> Vec<Vec<String>> {
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = code.split(|letter: char| !is_path(letter));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    let steps = |path: &str| path.split("::").filter(|step| !step.is_empty()).map(str::to_owned).collect();
    paths.map(steps).collect()
}

/// Returns the modules that each module of a Python package needs.
fn python_needs(folder: &Path) -> Needs {
    let paths = files().into_iter().map(|path| root().join(path));
    let paths =
        paths.filter(|path| path.starts_with(folder) && path.extension().is_some_and(|end| end == "py"));
    let mut code: BTreeMap<Module, (Module, String)> = BTreeMap::new();
    for path in paths {
        let inner = path.strip_prefix(folder).unwrap().with_extension("");
        let mut module: Module = inner.iter().map(|step| step.to_str().unwrap().to_owned()).collect();
        let package = module[..module.len() - 1].to_vec();
        if module.ends_with(&["__init__".to_owned()]) {
            module.pop();
        }
        code.insert(module, (package, fs::read_to_string(path).unwrap()));
    }
    let needed = |module: &Module, (package, text): &(Module, String)| -> BTreeSet<Module> {
        let homes = imported(text).into_iter().filter_map(|(dots, path)| {
            let above = package.len().checked_sub(dots - 1)?;
            let full: Module = package[..above].iter().cloned().chain(path).collect();
            (0..=full.len()).rev().map(|length| full[..length].to_vec()).find(|part| code.contains_key(part))
        });
        homes.filter(|home| !home.starts_with(module)).collect()
    };
    code.iter().map(|(module, source)| (module.clone(), needed(module, source))).collect()
}

/// Returns the relative imports of a Python module: the number of dots, and the path of each imported name.
fn imported(text: &str) -> Vec<(usize, Vec<String>)> {
    let starts = text
        .match_indices("from .")
        .filter(|(at, _)| text[..*at].rsplit('\n').next().is_some_and(|before| before.trim().is_empty()));
    let mut found = Vec::new();
    for (at, _) in starts {
        let Some((origin, rest)) = text[at + "from ".len()..].split_once(" import ") else { continue };
        let path = origin.trim_start_matches('.');
        let dots = origin.len() - path.len();
        let names = match rest.strip_prefix('(') {
            Some(group) => group.split(')').next(),
            None => rest.lines().next(),
        };
        let names = names.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
        found.extend(names.map(|name| {
            let name = name.split_whitespace().next().unwrap_or_default();
            let steps = path.split('.').filter(|step| !step.is_empty()).chain([name]);
            (dots, steps.map(str::to_owned).collect())
        }));
    }
    found
}

#[test]
fn python_imports_are_found() {
    let text = "import os\nfrom . import plot\nif TYPE_CHECKING:\n    from ..a.b import (\n        C as D,\n        e,\n    )\n";
    let found: Vec<_> = imported(text).into_iter().map(|(dots, path)| (dots, path.join("."))).collect();
    assert_eq!(found, [(1, "plot".to_owned()), (2, "a.b.C".to_owned()), (2, "a.b.e".to_owned())]);
}

#[test]
fn cycles_are_found() {
    let steps = |names: &[&str]| names.iter().map(|name| vec![(*name).to_owned()]).collect::<BTreeSet<_>>();
    let of = |name: &str, others: &[&str]| (vec![name.to_owned()], steps(others));
    let needs: Needs = [of("a", &["b"]), of("b", &["c"]), of("c", &["b"]), of("d", &[])].into();
    assert_eq!(cycles(&needs), [["b", "c"]]);
}

#[test]
fn use_paths_are_parsed() {
    let paths = |code: &str| {
        use_paths(code).into_iter().map(|(path, shows)| (path.join("::"), shows)).collect::<Vec<_>>()
    };
    assert_eq!(
        paths("use super::a::{self, B, c::{D, E}};"),
        [
            ("super::a".to_owned(), false),
            ("super::a::B".to_owned(), false),
            ("super::a::c::D".to_owned(), false),
            ("super::a::c::E".to_owned(), false),
        ]
    );
    assert_eq!(
        paths("pub(crate) use kinds::LayerPlan;\nlet a = 1;"),
        [("kinds::LayerPlan".to_owned(), true)]
    );
    assert_eq!(named_paths("let a = super::paged::memory_bytes(crate::size::ByteSize(1));").len(), 2);
}

#[test]
fn crates_and_package_have_no_cyclic_files() {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<(String, Needs)> = Vec::new();
    for folder in crates.chain([root().join("experiments")]) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        all.push((name, Crate::read(&folder.join("src")).needs()));
    }
    let package = python_needs(&root().join("python/wearwell"));
    assert!(package.len() > 30, "modules of the package: {}", package.len());
    all.push(("package".to_owned(), package));
    let mut found = Vec::new();
    for (name, needs) in &all {
        found.extend(cycles(needs).into_iter().map(|files| (name.clone(), files)));
    }
    found.sort();
    let mut allowed: Vec<(String, Vec<String>)> = ALLOWED_CYCLES
        .iter()
        .map(|(name, files, _)| ((*name).to_owned(), files.iter().map(|file| (*file).to_owned()).collect()))
        .collect();
    allowed.sort();
    let new: Vec<_> = found.iter().filter(|circle| !allowed.contains(circle)).collect();
    let resolved: Vec<_> = allowed.iter().filter(|circle| !found.contains(circle)).collect();
    assert!(
        new.is_empty() && resolved.is_empty(),
        "circles that are new: {new:#?}\nin the list but gone: {resolved:#?}"
    );
}
