// `etbackend graph FILE`: a graph image as text, and back.
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "api/format/graph_text.hpp"
#include "api/format/graph_verifier.hpp"
#include "tools/command.hpp"

namespace etb::tools {
namespace {

struct GraphOptions {
  std::string file;
  std::string output;
  uint64_t max_data_bytes = UINT64_MAX;
  bool checks_digests = false;
};

Result<std::string> read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return make_error(Code::NOT_FOUND, "cannot open '" + path + "'");
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return make_error(Code::ACCESS_FAILED, "cannot read '" + path + "'");
  return bytes;
}

bool is_image(std::string_view bytes) { return bytes.size() >= 8 && bytes.substr(4, 4) == "ETG1"; }

Result<graph::ImageBytes> to_image(std::string_view bytes) {
  if (!is_image(bytes)) return graph::parse_graph_text(bytes);
  graph::ImageBytes image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  ETB_TRY(graph::verify_graph_image(image.span()));
  return image;
}

Result<ExitCode> run_graph(const GraphOptions& options, std::ostream& out) {
  ETB_ASSIGN(const std::string bytes, read_whole_file(options.file));
  auto image = to_image(bytes);
  if (!image) return tl::make_unexpected(with_context(std::move(image).error(), options.file));
  if (options.checks_digests) ETB_TRY(graph::verify_constant_digests(image->span()));
  ETB_ASSIGN(const graph::View view, graph::View::open(image->span()));
  graph::PrintOptions print;
  print.max_data_bytes = options.max_data_bytes;
  print.max_text_bytes = 64 * bytes.size() + (uint64_t{1} << 24);  // an honest image needs a tenth
  if (options.output.empty()) {
    out << graph::print_graph_image(view, print);
    return ExitCode::OK;
  }
  std::ofstream file(options.output, std::ios::binary | std::ios::trunc);
  const std::string_view name = options.output;
  if (name.size() >= 4 && name.substr(name.size() - 4) == ".etg") {
    file.write(reinterpret_cast<const char*>(image->span().data()),
               static_cast<std::streamsize>(image->span().size()));
  } else {
    file << graph::print_graph_image(view, print);
  }
  file.close();
  if (!file) return make_error(Code::ACCESS_FAILED, "cannot write '" + options.output + "'");
  return ExitCode::OK;
}

}  // namespace

void register_graph(CLI::App& app, Session& session) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* command = app.add_subcommand("graph", "Print a graph image (.etg) as text, or make one of text");
  command
      ->add_option("FILE", options->file, "An image or its text form; which of both is seen from its bytes")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "Write here: an image when the name ends in .etg, else text")
      ->type_name("FILE");
  command->add_option("--max-data", options->max_data_bytes,
                      "Leave out inline data of more than so many bytes");
  command->add_flag("--digests", options->checks_digests, "Check the data inside against the digests");
  run_as(command, session, [options, &session] { return run_graph(*options, session.out); });
}

}  // namespace etb::tools
