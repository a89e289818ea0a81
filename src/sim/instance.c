/* Variables get memory and their first values. */
#include "instance.h"

#include <stdlib.h>
#include <string.h>

#include "exec/warp.h"
#include "result.h"
#include "space.h"

static bool has_memory(const ptx_symbol *symbol) {
  return (symbol->space == PTX_GLOBAL || symbol->space == PTX_CONST) && !symbol->definition && symbol->size;
}

/* Managed variables are one for all contexts. */
static int managed_get(sim_allocation **out, sim_library *library, const ptx_symbol *symbol, sim_context *context,
                       bool *made) {
  uint32_t count = library->program->module->symbol_count;
  if (!library->managed && !(library->managed = calloc(count, sizeof(sim_allocation *))))
    return SIM_OUT_OF_MEMORY;
  sim_allocation **known = &library->managed[symbol->index];
  *made = !*known;
  int result =
      *known ? SIM_SUCCESS
             : sim_memory_host(known, context, NULL, symbol->size, SIM_MEMORY_MANAGED, 1, "a __managed__ variable");
  *out = *known;
  return result;
}

static void variable_fill(const sim_allocation *allocation, const ptx_symbol *symbol) {
  if (symbol->bytes)
    memcpy(allocation->host, symbol->bytes, symbol->size);
  else
    sim_space_zero(allocation->host, symbol->size);
}

static int variable_make(sim_instance *instance, const ptx_symbol *symbol, bool *made) {
  sim_allocation **out = &instance->variables[symbol->index];
  *made = true;
  int result = symbol->managed ? managed_get(out, instance->library, symbol, instance->context, made)
                               : sim_memory_allocate(out, instance->context, symbol->size, SIM_MEMORY_MODULE,
                                                     "a module's variable");
  if (result)
    return result;
  instance->addresses[symbol->index] = (*out)->address;
  if (!*made)
    return SIM_SUCCESS;
  (*out)->name = symbol->name;
  (*out)->read_only = symbol->space == PTX_CONST;
  variable_fill(*out, symbol);
  return SIM_SUCCESS;
}

static uint64_t relocation_value(const sim_instance *instance, const ptx_relocation *relocation) {
  uint64_t address = 0;
  if (relocation->symbol) {
    const ptx_symbol *symbol = relocation->symbol->definition ? relocation->symbol->definition : relocation->symbol;
    address = instance->addresses[symbol->index];
  } else if (relocation->function) {
    const ptx_function *function =
        relocation->function->definition ? relocation->function->definition : relocation->function;
    address = SIM_WINDOW_CODE | (uint64_t)function->index * 16;
  }
  return (address + (uint64_t)relocation->addend) >> relocation->shift;
}

/* Addresses in initialisers: when all variables have theirs. */
static void variable_relocate(const sim_instance *instance, const ptx_symbol *symbol) {
  for (uint32_t i = 0; i < symbol->relocation_count; i++) {
    const ptx_relocation *relocation = &symbol->relocations[i];
    uint64_t value = relocation_value(instance, relocation);
    memcpy(instance->variables[symbol->index]->host + relocation->offset, &value, relocation->size);
  }
}

static void instance_free(sim_instance *instance) {
  free(instance->variables);
  free(instance->addresses);
  free(instance);
}

static void instance_release(sim_instance *instance) {
  uint32_t count = instance->library->program->module->symbol_count;
  for (uint32_t i = 0; i < count; i++) {
    sim_allocation *variable = instance->variables[i];
    if (variable && variable->kind == SIM_MEMORY_MODULE) {
      /* The record outlives the text that it borrows its name from. */
      variable->name = NULL;
      sim_memory_release(variable);
    }
  }
  instance_free(instance);
}

static int instance_fill(sim_instance *instance) {
  const sim_program *program = instance->library->program;
  const ptx_module *module = program->module;
  bool *made = calloc((size_t)module->symbol_count + 1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  int result = SIM_SUCCESS;
  for (uint32_t i = 0; i < module->symbol_count && !result; i++)
    if (has_memory(module->symbols[i]))
      result = variable_make(instance, module->symbols[i], &made[i]);
    else if (module->symbols[i]->space == PTX_SHARED)
      instance->addresses[i] = SIM_WINDOW_SHARED | program->shared_offsets[i];
  for (uint32_t i = 0; i < module->symbol_count && !result; i++)
    if (made[i])
      variable_relocate(instance, module->symbols[i]);
  free(made);
  return result;
}

int sim_library_instance(sim_instance **out, sim_library *library, sim_context *context) {
  for (sim_instance *each = library->instances; each; each = each->next)
    if (each->context == context) {
      *out = each;
      return SIM_SUCCESS;
    }
  size_t count = (size_t)library->program->module->symbol_count + 1;
  sim_instance *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  made->library = library;
  made->context = context;
  made->variables = calloc(count, sizeof(sim_allocation *));
  made->addresses = calloc(count, sizeof *made->addresses);
  if (!made->variables || !made->addresses) {
    instance_free(made);
    return SIM_OUT_OF_MEMORY;
  }
  int result = instance_fill(made);
  if (result) {
    instance_release(made);
    return result;
  }
  made->next = library->instances;
  library->instances = made;
  *out = made;
  return SIM_SUCCESS;
}

static void managed_release(sim_library *library) {
  if (!library->managed)
    return;
  uint32_t count = library->program->module->symbol_count;
  for (uint32_t i = 0; i < count; i++)
    if (library->managed[i]) {
      library->managed[i]->name = NULL;
      sim_memory_release(library->managed[i]);
      library->managed[i] = NULL;
    }
}

/* Managed variables go with the last instance; before, another context takes them over. */
static void managed_hand_over(sim_library *library) {
  if (!library->managed)
    return;
  uint32_t count = library->program->module->symbol_count;
  for (uint32_t i = 0; i < count; i++)
    if (library->managed[i])
      library->managed[i]->context = library->instances->context;
}

void sim_instance_drop(sim_library *library, sim_context *context) {
  for (sim_instance **link = &library->instances; *link; link = &(*link)->next) {
    sim_instance *each = *link;
    if (each->context != context)
      continue;
    *link = each->next;
    instance_release(each);
    if (library->instances)
      managed_hand_over(library);
    else
      managed_release(library);
    return;
  }
}

void sim_instance_drop_all(sim_library *library) {
  while (library->instances)
    sim_instance_drop(library, library->instances->context);
  if (library->program)
    managed_release(library);
}
