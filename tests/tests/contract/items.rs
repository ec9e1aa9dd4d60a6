//! Everything in the WIT that has a name, as one list, so that a rule is one loop over it.

use std::path::{Path, PathBuf};

use wit_parser::{Docs, Function, InterfaceId, PackageId, Resolve, Stability, Type, TypeDefKind, TypeId, WorldItem};

/// Where the WIT lies.
pub(crate) fn wit_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")
}

/// The WIT, parsed, with the package that is ours.
pub(crate) struct Contract {
    pub(crate) resolve: Resolve,
    pub(crate) package: PackageId,
}

/// One thing with a name.
pub(crate) struct Item {
    /// Where it stands, for a complaint: `types.error.busy`.
    pub(crate) path: String,
    /// Its own name.
    pub(crate) name: String,
    /// What is said of it; parameters have no place for that.
    pub(crate) docs: Option<Docs>,
    /// Since when it is there; members of a type have no place for that.
    pub(crate) stability: Option<Stability>,
}

impl Contract {
    /// Reads it.
    pub(crate) fn read() -> Self {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(wit_dir()).expect("the WIT parses");
        Self { resolve, package }
    }

    /// The WIT of a text instead of ours, for checks of the rules themselves.
    pub(crate) fn of(text: &str) -> Self {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("test.wit", text).expect("the WIT of a test parses");
        Self { resolve, package }
    }

    /// Our interfaces by name.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = (&str, InterfaceId)> {
        self.resolve.packages[self.package].interfaces.iter().map(|(name, id)| (name.as_str(), *id))
    }

    /// All functions, each with its interface's name.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&str, &Function)> {
        self.interfaces().flat_map(|(name, id)| self.resolve.interfaces[id].functions.values().map(move |f| (name, f)))
    }

    /// All types that are defined here and not used from another interface, each with its interface's name.
    fn named_types(&self) -> impl Iterator<Item = (&str, TypeId)> {
        self.interfaces()
            .flat_map(|(name, id)| self.resolve.interfaces[id].types.values().map(move |id| (name, *id)))
            .filter(|(_, id)| !self.is_use(*id))
    }

    /// Whether a type is there by `use`: an alias of a type with a name in another interface.
    fn is_use(&self, id: TypeId) -> bool {
        let alias = &self.resolve.types[id];
        let TypeDefKind::Type(Type::Id(of)) = alias.kind else { return false };
        self.resolve.types[of].owner != alias.owner
    }

    /// All types, those without a name in fields, parameters and results included.
    pub(crate) fn all_types(&self) -> impl Iterator<Item = TypeId> {
        self.resolve.types.iter().map(|(id, _)| id)
    }

    /// The type behind aliases.
    pub(crate) fn behind(&self, mut ty: Type) -> Type {
        while let Type::Id(id) = ty {
            let TypeDefKind::Type(of) = self.resolve.types[id].kind else { break };
            ty = of;
        }
        ty
    }

    /// The kind of a type behind aliases, unless it is a primitive one.
    pub(crate) fn kind(&self, ty: Type) -> Option<&TypeDefKind> {
        match self.behind(ty) {
            Type::Id(id) => Some(&self.resolve.types[id].kind),
            _ => None,
        }
    }

    /// Everything with a name.
    pub(crate) fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut add = |path: String, docs: Option<&Docs>, stability: Option<&Stability>| {
            let name = path.rsplit('.').next().unwrap_or_default().to_owned();
            items.push(Item { path, name, docs: docs.cloned(), stability: stability.cloned() });
        };
        for (name, id) in self.interfaces() {
            let interface = &self.resolve.interfaces[id];
            add(name.to_owned(), Some(&interface.docs), Some(&interface.stability));
        }
        for (interface, id) in self.named_types() {
            let ty = &self.resolve.types[id];
            let path = format!("{interface}.{}", ty.name.as_deref().unwrap_or_default());
            add(path.clone(), Some(&ty.docs), Some(&ty.stability));
            let members: Vec<(&str, &Docs)> = match &ty.kind {
                TypeDefKind::Record(record) => record.fields.iter().map(|f| (f.name.as_str(), &f.docs)).collect(),
                TypeDefKind::Variant(variant) => variant.cases.iter().map(|c| (c.name.as_str(), &c.docs)).collect(),
                TypeDefKind::Enum(cases) => cases.cases.iter().map(|c| (c.name.as_str(), &c.docs)).collect(),
                TypeDefKind::Flags(flags) => flags.flags.iter().map(|f| (f.name.as_str(), &f.docs)).collect(),
                _ => Vec::new(),
            };
            for (member, docs) in members {
                add(format!("{path}.{member}"), Some(docs), None);
            }
        }
        for (interface, function) in self.functions() {
            let path = format!("{interface}.{}", function.name);
            add(path.clone(), Some(&function.docs), Some(&function.stability));
            for param in &function.params {
                add(format!("{path}.{}", param.name), None, None);
            }
        }
        for (name, id) in &self.resolve.packages[self.package].worlds {
            let world = &self.resolve.worlds[*id];
            add(name.clone(), Some(&world.docs), Some(&world.stability));
            for (key, item) in world.imports.iter().chain(&world.exports) {
                // What is there only because another interface uses it stands nowhere in the text.
                if matches!(item, WorldItem::Interface { id, .. } if self.resolve.interfaces[*id].name.as_deref() == Some("types"))
                {
                    continue;
                }
                let key = self.resolve.name_world_key(key);
                add(format!("{name}.{}", key.replace('.', "_")), None, Some(item.stability(&self.resolve)));
            }
        }
        items
    }
}
