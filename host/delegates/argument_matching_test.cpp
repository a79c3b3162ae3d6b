// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/argument_matching.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "host/testing/tensors.hpp"
