// SPDX-License-Identifier: Apache-2.0
// Results whose sizes depend on elements: the distinct numbers, rows and neighbours of a tensor. Each such size is a dynamic dim
// without a formula, up to its bound.
#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

enum class Distinct { kSorted, kNeighbours, kItems, kNeighbourItems };  // items along a dim

struct Search {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Distinct distinct = Distinct::kSorted;
  Sizes sizes;
  int64_t dim = 0;
  bool has_dim = false, has_inverse = true, has_counts = true;
  int64_t numbers = 4;  // how many different ones are drawn

  bool has_items() const {
    return distinct == Distinct::kItems || distinct == Distinct::kNeighbourItems ||
           (distinct == Distinct::kNeighbours && has_dim);
  }
  // Along a dim PyTorch returns all results, also those that were not asked for.
  bool returns_inverse() const { return has_inverse || has_items(); }
  bool returns_counts() const { return has_counts || has_items(); }
};

const char* op_of(const Search& search) {
  constexpr const char* kOps[] = {"aten._unique2.default", "aten.unique_consecutive.default",
                                  "aten.unique_dim.default", "aten.unique_dim_consecutive.default"};
  return kOps[static_cast<size_t>(search.distinct)];
}

// The spec of a result; dimension `moving` has any size up to its bound.
uint32_t bounded_spec(CaseBuilder& builder, etb_dtype dtype, const Sizes& sizes, uint32_t moving) {
  graph::SpecDesc desc;
  desc.dtype = dtype;
  desc.sizes = sizes;
  if (moving < sizes.size()) desc.dynamic_dims.push_back({moving, sizes[moving] == 0 ? 0 : 1, {}});
  return builder.image_builder().add_spec(desc);
}

std::vector<graph::ArgumentDesc> arguments_of(const Search& search, uint32_t x) {
  std::vector<graph::ArgumentDesc> args = {value_arg(x, "self")};
  const graph::ArgumentDesc dim = graph::int_arg(search.dim, "dim"),
                            inverse = graph::bool_arg(search.has_inverse, "return_inverse"),
                            counts = graph::bool_arg(search.has_counts, "return_counts"),
                            sorted = graph::bool_arg(true, "sorted");
  switch (search.distinct) {
    case Distinct::kSorted:
      args.insert(args.end(), {sorted, inverse, counts});
      break;
    case Distinct::kNeighbours:
      args.insert(args.end(), {inverse, counts, search.has_dim ? dim : graph::none_arg("dim")});
      break;
    case Distinct::kItems:
      args.insert(args.end(), {dim, sorted, inverse, counts});
      break;
    case Distinct::kNeighbourItems:
      args.insert(args.end(), {dim, inverse, counts});
      break;
  }
  return args;
}

Result<BuiltCase> build_search(const Search& search, std::string_view name) {
  CaseBuilder builder(name);
  const Shape shape{search.dtype, search.sizes, {}};
  const uint32_t x = builder.input(filled(
      shape, [&](int64_t) { return static_cast<double>(builder.random().between(0, search.numbers - 1)); }));
  const uint32_t dim =
      search.has_items() ? static_cast<uint32_t>(wrapped(search.dim, search.sizes.size())) : 0;
  const int64_t count = search.has_items() ? search.sizes[dim] : shape.numel();
  const Sizes values = search.has_items() ? search.sizes : Sizes{count},
              inverse = search.has_items() ? Sizes{count} : search.sizes;
  graph::NodeDesc node;
  node.op = op_of(search);
  node.args = arguments_of(search, x);
  node.debug_handle = 1;
  const uint32_t specs[] = {
      bounded_spec(builder, search.dtype, values, dim),
      builder.spec({ETB_DTYPE_INT64, search.returns_inverse() ? inverse : Sizes{0}, {}}),
      bounded_spec(builder, ETB_DTYPE_INT64, {search.returns_counts() ? count : 0}, 0)};
  for (const uint32_t spec : specs)
    node.outputs.push_back(graph::tensor("y" + std::to_string(node.outputs.size()), spec));
  const uint32_t first = builder.graph().add_node(node);
  for (uint32_t i = 0; i < std::size(specs); ++i) builder.output(first + i);
  return builder.finish({});
}

std::string name_of(const Search& search) {
  std::string name = op_word(op_of(search)) + "." + short_name(search.dtype) + "." +
                     shape_text({search.dtype, search.sizes, {}});
  if (search.has_items()) name += ".dim_" + number_text(search.dim);
  if (search.has_inverse) name += ".inverse";
  if (search.has_counts) name += ".counts";
  return name + ".of_" + std::to_string(search.numbers) + ".pair";
}

}  // namespace

void add_data_size_designs(CaseList& out) {
  DesignOf<Search> design;
  design.add(&Search::distinct,
             {Distinct::kSorted, Distinct::kNeighbours, Distinct::kItems, Distinct::kNeighbourItems});
  design.add_all(&Search::dtype, kAllDtypes);
  design.add(&Search::sizes, {{7}, {65}, {3, 5}, {9, 2}, {2, 3, 4}, {1}, {0}, {33, 1}});
  design.add(&Search::has_dim, {false, true});
  design.add(&Search::dim, {0, 1, -1});
  design.add(&Search::has_inverse, {true, false});
  design.add(&Search::has_counts, {true, false});
  design.add(&Search::numbers, {4, 1, 2, 100});
  // Without elements there is no item; along the only dim, the meaning of 0 and -1 differs between versions of PyTorch.
  const auto is_allowed = [](const Search& s) {
    if (s.dtype == ETB_DTYPE_BOOL && s.numbers > 2) return false;
    if (!s.has_items()) return true;
    return s.sizes.size() > 1 && s.dim < static_cast<int64_t>(s.sizes.size());
  };
  for (const Search& search : design.rows("data sizes", is_allowed))
    out.add({name_of(search), op_of(search), search.dtype,
             [search](std::string_view name) { return build_search(search, name); }});
}

}  // namespace etb::conformance
