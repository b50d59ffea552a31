//! The types that the derive macros accept, and the names of the generated types.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Fields, Generics, Member, Result, Type, Visibility};

/// A type whose changes are recorded.
pub(crate) struct State<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) vis: &'a Visibility,
    pub(crate) generics: &'a Generics,
    pub(crate) is_whole: bool,
    /// The variants; a struct has one, without a name.
    pub(crate) variants: Vec<Variant<'a>>,
    pub(crate) is_enum: bool,
    /// The path to `parades_core::restore`.
    pub(crate) restore: TokenStream,
}

/// A variant of an enum, or the fields of a struct.
pub(crate) struct Variant<'a> {
    pub(crate) name: Option<&'a Ident>,
    pub(crate) shape: &'a Fields,
    pub(crate) fields: Vec<Field<'a>>,
}

/// A field.
pub(crate) struct Field<'a> {
    pub(crate) member: Member,
    pub(crate) vis: &'a Visibility,
    pub(crate) ty: &'a Type,
    /// The number of the field among the recorded fields; none for a constant.
    pub(crate) number: Option<usize>,
    pub(crate) is_boxed: bool,
}

impl<'a> State<'a> {
    pub(crate) fn parse(input: &'a DeriveInput) -> Result<State<'a>> {
        let core = core_path();
        let is_whole = words(&input.attrs, &["whole"])? == ["whole"];
        let mut state = State {
            name: &input.ident,
            vis: &input.vis,
            generics: &input.generics,
            is_whole,
            variants: Vec::new(),
            is_enum: matches!(input.data, Data::Enum(_)),
            restore: quote!(#core::restore),
        };
        if is_whole {
            return Ok(state);
        }
        let mut number = 0;
        match &input.data {
            Data::Struct(data) => {
                if let Fields::Unnamed(fields) = &data.fields {
                    let what =
                        "the fields of a struct that records its changes have names, by which their views are called";
                    return Err(Error::new_spanned(fields, what));
                }
                state.variants.push(Variant::parse(None, &data.fields, &mut number)?);
            }
            Data::Enum(data) => {
                for variant in &data.variants {
                    state.variants.push(Variant::parse(Some(&variant.ident), &variant.fields, &mut number)?);
                }
                if number == 0 {
                    let what = "no field of this enum changes; to change it as a whole, add `#[undoable(whole)]`";
                    return Err(Error::new_spanned(&input.ident, what));
                }
            }
            Data::Union(_) => return Err(Error::new_spanned(&input.ident, "a union cannot record its changes")),
        }
        Ok(state)
    }

    pub(crate) fn undo(&self) -> Ident {
        format_ident!("{}Undo", self.name)
    }

    pub(crate) fn view(&self) -> Ident {
        format_ident!("{}Mut", self.name)
    }

    pub(crate) fn parts(&self) -> Ident {
        format_ident!("{}Parts", self.name)
    }

    /// Returns the type of the records with the generic arguments.
    pub(crate) fn undo_type(&self) -> TokenStream {
        let (undo, (_, arguments, _)) = (self.undo(), self.generics.split_for_impl());
        quote!(#undo #arguments)
    }

    /// Returns the fields whose changes are recorded, with their numbers.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (&Variant<'a>, &Field<'a>, usize)> {
        self.variants.iter().flat_map(|variant| {
            variant.fields.iter().filter_map(move |field| field.number.map(|number| (variant, field, number)))
        })
    }
}

impl<'a> Variant<'a> {
    fn parse(name: Option<&'a Ident>, shape: &'a Fields, number: &mut usize) -> Result<Variant<'a>> {
        let mut fields = Vec::new();
        for (field, member) in shape.iter().zip(shape.members()) {
            let words = words(&field.attrs, &["constant", "boxed"])?;
            let is_constant = words.iter().any(|word| word == "constant");
            let taken = (!is_constant).then_some(*number);
            *number += usize::from(!is_constant);
            let is_boxed = words.iter().any(|word| word == "boxed");
            fields.push(Field { member, vis: &field.vis, ty: &field.ty, number: taken, is_boxed });
        }
        Ok(Variant { name, shape, fields })
    }
}

impl Field<'_> {
    /// Returns the name that a pattern binds the field to.
    pub(crate) fn binding(&self) -> Ident {
        match &self.member {
            Member::Named(name) => name.clone(),
            Member::Unnamed(index) => format_ident!("field_{}", index.index),
        }
    }
}

/// Returns the name of the record's variant for the field of this number.
pub(crate) fn record_variant(number: usize) -> Ident {
    format_ident!("Field{number}")
}

/// Returns the words of the attributes `undoable`.
fn words(attributes: &[Attribute], known: &[&str]) -> Result<Vec<Ident>> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("undoable")) {
        attribute.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().filter(|word| known.iter().any(|known| word == known));
            let word = word.ok_or_else(|| meta.error(format!("only `{}` can be said here", known.join("` or `"))))?;
            words.push(word.clone());
            Ok(())
        })?;
    }
    Ok(words)
}

/// Returns the path to `parades_core`.
pub(crate) fn core_path() -> TokenStream {
    path_to("core")
}

/// Returns the path to a crate of parades. A crate that depends only on `parades`, the library under one
/// name, reaches the others through it.
pub(crate) fn path_to(name: &str) -> TokenStream {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").map(|folder| format!("{folder}/Cargo.toml"));
    let text = manifest.ok().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    if text.contains(&format!("parades-{name}")) || !text.contains("parades") {
        let name = format_ident!("parades_{name}");
        quote!(::#name)
    } else {
        let name = format_ident!("{name}");
        quote!(::parades::#name)
    }
}
