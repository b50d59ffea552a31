//! The implementation of `Restorable` for a model with `ByRecord`.

use crate::input::core_path;
use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

pub(crate) fn generate(input: &DeriveInput) -> TokenStream {
    let (name, core) = (&input.ident, core_path());
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    let predicates = bounds.map(|bounds| &bounds.predicates);
    let restore = quote!(#core::restore);
    let state = quote!(<Self as #core::model::Model>::State);
    let event = quote!(#core::event::Body<&<Self as #core::model::Model>::Message>);
    let log = quote!(#restore::UndoLog<Self::Undo>);
    quote! {
        #[automatically_derived]
        impl #parameters #restore::Restorable for #name #arguments
        where
            Self: #restore::ByRecord,
            #predicates
        {
            type Undo = <#state as #restore::Undoable>::Undo;

            #[inline(always)]
            fn handle_undoable(
                &self,
                state: &mut #state,
                event: #event,
                ctx: &mut #core::model::Context<'_, Self>,
                log: &mut #log,
            ) {
                log.recording(|recorder| {
                    let state = #restore::Undoable::view(state, recorder);
                    #restore::ByRecord::execute(self, state, event, ctx);
                });
            }

            #[inline]
            fn undo(&self, state: &mut #state, _: #event, log: &mut #log) {
                #restore::Undoable::undo_all(state, log);
            }
        }
    }
}
