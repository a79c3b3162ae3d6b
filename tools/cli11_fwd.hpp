// SPDX-License-Identifier: Apache-2.0
// Names of CLI11's classes, for headers. A file that includes CLI11 takes several seconds more to compile, so only
// sources that define options or read them do.
#pragma once

namespace CLI {

class App;
class FormatterBase;
class Option;
class Validator;

}  // namespace CLI
