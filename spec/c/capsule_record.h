/* capsule_record.h: managed tensors for capsule_fuzz, with what is known of them, and the capsules and tables that hand
 * them out. */
#ifndef XCHG_SPEC_CAPSULE_RECORD_H
#define XCHG_SPEC_CAPSULE_RECORD_H

/* ---- what is imported ----------------------------------------------------------------------------------- */

/* A managed tensor, in memory of its own of exactly its size. */
typedef struct {
  union {
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
  } managed;
  int versioned;
  int sound;   /* nothing that is in it has to be refused */
  int deletes; /* it has a deleter */
  int deleted;
  int64_t shape[4], strides[4]; /* as they must be in a tensor */
  int64_t *extents, *steps;     /* as the managed tensor points to them */
} record;

static record capsule_record, table_record;

static void record_delete(record *self) {
  self->deleted++;
  /* Whoever looks after this is seen by a checker of memory. */
  free(self->extents);
  free(self->steps);
  self->extents = self->steps = NULL;
}
static record *record_of(const void *managed) {
  EXPECT(managed == &capsule_record.managed || managed == &table_record.managed);
  return managed == &capsule_record.managed ? &capsule_record : &table_record;
}
static void delete_legacy(DLManagedTensor *self) {
  EXPECT(!record_of(self)->versioned);
  record_delete(record_of(self));
}
static void delete_versioned(DLManagedTensorVersioned *self) {
  EXPECT(record_of(self)->versioned);
  record_delete(record_of(self));
}

/* What a producer's destructor does. */
static void destroy(PyObject *capsule) {
  record *self = record_of(capsule->pointer);
  if (capsule->name == NULL)
    return;
  if (strcmp(capsule->name, "dltensor") == 0 && self->managed.legacy.deleter != NULL)
    self->managed.legacy.deleter(&self->managed.legacy);
  if (strcmp(capsule->name, "dltensor_versioned") == 0 && self->managed.versioned.deleter != NULL)
    self->managed.versioned.deleter(&self->managed.versioned);
}

/* ---- making inputs ---------------------------------------------------------------------------------------- */

static const struct {
  uint8_t code, bits;
} types_of_elements[] = {{2, 64}, {2, 32}, {0, 32}, {1, 8}, {5, 128}, {5, 64}, {6, 8}, {4, 16}, {17, 4}};

static void record_make(record *self, int versioned) {
  DLTensor *tensor = versioned ? &self->managed.versioned.dl_tensor : &self->managed.legacy.dl_tensor;
  int64_t compact = 1;
  int ndim = take() % 5, type = take() % (int)(sizeof types_of_elements / sizeof *types_of_elements), odd = take();
  memset(self, 0, sizeof *self);
  self->versioned = versioned;
  self->sound = 1;
  self->deletes = !rarely(10);
  if (versioned) {
    self->managed.versioned.version.major = kDLPackMajor;
    self->managed.versioned.version.minor = take() % 7;
    self->managed.versioned.flags = take() % 4;
    self->managed.versioned.deleter = self->deletes ? delete_versioned : NULL;
    self->managed.versioned.manager_ctx = rarely(5) ? NULL : self;
  } else {
    self->managed.legacy.deleter = self->deletes ? delete_legacy : NULL;
    self->managed.legacy.manager_ctx = rarely(5) ? NULL : self;
  }
  self->extents = malloc(ndim > 0 ? (size_t)ndim * sizeof *self->extents : 1);
  self->steps = malloc(ndim > 0 ? (size_t)ndim * sizeof *self->steps : 1);
  for (int d = ndim - 1; d >= 0; d--) {
    self->shape[d] = self->extents[d] = rarely(9) ? 0 : 1 + take() % 4;
    self->strides[d] = self->steps[d] = compact;
    compact *= self->extents[d] != 0 ? self->extents[d] : 1;
  }
  tensor->ndim = ndim;
  tensor->shape = self->extents;
  tensor->strides = rarely(4) ? NULL : self->steps;
  tensor->data = memory + 64 * (take() % 8);
  tensor->device.device_type = kDLCPU;
  tensor->dtype = (DLDataType){types_of_elements[type].code, types_of_elements[type].bits, 1};
  /* What is wrong is wrong by itself, whatever else there is. */
  switch (odd % 24) {
  case 0: tensor->ndim = -1 - take(), self->sound = 0; break;
  case 1: tensor->ndim = 65 + take(), self->sound = 0; break;
  case 2: tensor->shape = NULL, self->sound = ndim == 0; break;
  case 3: tensor->dtype.code = 18 + take() % 200, self->sound = 0; break;
  case 4: tensor->dtype.lanes = 3, self->sound = 0; break;
  case 5: tensor->device.device_type = (int32_t[]){0, -1, 5, 6, 256, INT32_MAX}[take() % 6], self->sound = 0; break;
  case 6: tensor->device.device_type = (int32_t[]){kDLCUDA, kDLCUDAHost, kDLROCM, kDLCUDAManaged}[take() % 4]; break;
  case 7: tensor->byte_offset = UINT64_MAX, self->sound = 0; break;
  case 8:
    if (ndim > 0)
      self->extents[take() % ndim] = -1 - take(), self->sound = 0;
    break;
  case 9:
    if (versioned)
      self->managed.versioned.version.major = take() % 4, self->sound = self->managed.versioned.version.major == 1;
    break;
  case 10:
    tensor->data = NULL;
    for (int d = 0, empty = 0; d <= ndim; d++) {
      empty |= d < ndim && self->shape[d] == 0;
      self->sound = d < ndim ? 1 : empty;
    }
    break;
  default: break;
  }
}

static const char *take_name(int versioned) {
  static const char *const names[] = {"used_dltensor", "used_dltensor_versioned", "", "dltensor_", "other", NULL};
  if (!rarely(8))
    return versioned ? "dltensor_versioned" : "dltensor";
  return names[take() % (sizeof names / sizeof *names)];
}

static PyObject *capsule_new(void) {
  PyObject *capsule = object_new(CAPSULE);
  record_make(&capsule_record, take() % 2);
  capsule->pointer = &capsule_record.managed;
  capsule->name = take_name(capsule_record.versioned);
  capsule->destructor = rarely(4) ? NULL : destroy;
  return capsule;
}

/* The one capsule that a run has: held here too, so that it can be looked at. */
static PyObject *the_capsule, *type_of_object;
static const char *name_before;
static PyCapsule_Destructor destructor_before;

static PyObject *anything(void) {
  static const int kinds[] = {NONE, INTEGER, TEXT, TUPLE, LIST, DICT, OBJECT};
  int kind = kinds[take() % (sizeof kinds / sizeof *kinds)];
  if (kind == NONE) {
    none.references++;
    return &none;
  }
  return object_new(kind);
}

static PyObject *raise_anything(void) {
  static const char *const texts[] = {"unexpected keyword argument 'max_version'",
                                      "unexpected keyword argument 'stream'",
                                      "unexpected keyword argument 'copy'",
                                      "f() takes no keyword arguments",
                                      "unexpected keyword argument 'dl_device'",
                                      "the data has no type",
                                      NULL};
  switch (take() % 8) {
  case 0: return raise_saying(&attribute_error, NULL);
  case 1: return raise_saying(&interrupt, NULL);
  case 2: return raise_saying(&other_error, "no");
  default: return raise_saying(&type_error, texts[take() % (sizeof texts / sizeof *texts)]);
  }
}

static int questions; /* calls of `__dlpack__` in a run */

/* What the methods of an object do. */
static PyObject *method(PyObject *object, const char *name) {
  EXPECT(object->kind == OBJECT && object->references > 0);
  if (strcmp(name, "untyped_storage") == 0)
    return rarely(6) ? raise_anything() : object_new(OBJECT);
  if (strcmp(name, "__dlpack_device__") == 0) {
    PyObject *tuple;
    if (rarely(8))
      return rarely(2) ? raise_anything() : raise_saying(&attribute_error, NULL);
    if (rarely(12))
      return anything();
    tuple = object_new(TUPLE);
    for (int i = 0; i < (rarely(20) ? 3 : 2); i++) {
      tuple->members[tuple->count] = rarely(12) ? anything() : object_new(INTEGER);
      if (tuple->members[tuple->count]->kind == INTEGER)
        tuple->members[tuple->count]->number = i > 0 ? take() % 2 * (take() > 200) : rarely(5) ? take() % 20 : 1;
      tuple->count++;
    }
    return tuple;
  }
  EXPECT(strcmp(name, "__dlpack__") == 0);
  EXPECT(++questions <= 8);
  if (rarely(3))
    return raise_anything();
  if (rarely(12))
    return anything();
  if (the_capsule == NULL) {
    the_capsule = capsule_new();
    name_before = the_capsule->name;
    destructor_before = the_capsule->destructor;
  }
  the_capsule->references++;
  return the_capsule;
}

/* ---- the C exchange API ------------------------------------------------------------------------------------- */

static int given; /* the owning function has handed its tensor over */

static int behave(void) {
  int code = rarely(4) ? -1 : 0;
  if (take() % 4 == 0 && pending == NULL)
    raise_saying(take() % 5 ? &other_error : &interrupt, NULL);
  return code;
}
static int table_owning(void *object, DLManagedTensorVersioned **out) {
  int code;
  EXPECT(((PyObject *)object)->references > 0 && pending == NULL);
  code = behave();
  if (rarely(6))
    return code;
  record_make(&table_record, 1);
  given = code == 0;
  *out = &table_record.managed.versioned;
  return code;
}
static int table_borrowing(void *object, DLTensor *out) {
  EXPECT(((PyObject *)object)->references > 0 && pending == NULL);
  record_make(&table_record, 1);
  table_record.deletes = 0; /* nobody is told to, and its version is not read */
  table_record.sound |= table_record.managed.versioned.version.major != kDLPackMajor;
  *out = table_record.managed.versioned.dl_tensor;
  return behave();
}
static int table_stream(int32_t type, int32_t id, void **out) {
  EXPECT(type == kDLCUDA && id == 0);
  *out = NULL;
  return behave();
}

static DLPackExchangeAPI tables[3];

/* Up to three tables behind each other, by whatever the type's attribute is. */
static void take_tables(PyObject *type) {
  PyObject *value;
  int count = take() % 4;
  memset(tables, 0, sizeof tables);
  for (int i = 0; i < 3; i++) {
    tables[i].header.version.major = rarely(3) ? take() % 4 : 1;
    tables[i].header.version.minor = take() % 5;
    tables[i].header.prev_api = i + 1 < count ? &tables[i + 1].header : rarely(8) ? &tables[0].header : NULL;
    if (!rarely(6))
      tables[i].managed_tensor_from_py_object_no_sync = table_owning;
    if (!rarely(6))
      tables[i].dltensor_from_py_object_no_sync = table_borrowing;
    if (!rarely(6))
      tables[i].current_work_stream = table_stream;
  }
  if (count == 0)
    return;
  value = object_new(rarely(3) ? INTEGER : CAPSULE);
  value->number = rarely(4) ? 16 : (int64_t)(uintptr_t)tables;
  value->pointer = tables;
  value->name = rarely(5) ? "other" : "dlpack_exchange_api";
  type->keys[0] = rarely(2) ? "__dlpack_c_exchange_api__" : "__c_dlpack_exchange_api__";
  type->members[type->count++] = value;
}

#endif
