// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "../analysis/stream_builder.h"
#include "report/json_document.h"
#include "report/render.h"

namespace rtnlprof {
namespace {

using test::by_timer;
using test::kMs;
using test::StreamBuilder;

nlohmann::json json_of(const Report& report) {
  std::ostringstream out;
  render_json(report, out);
  EXPECT_EQ(out.str().back(), '\n');
  return nlohmann::json::parse(out.str());
}

TEST(JsonReport, AnEmptyReportHasEveryPart) {
  const nlohmann::json json = json_of({});
  EXPECT_EQ(json["schema"], "rtnlprof.report/1");
  for (const char* key : {"findings", "locks", "chains", "tasks", "functions", "network", "nics"}) {
    EXPECT_TRUE(json[key].is_array()) << key;
    EXPECT_TRUE(json[key].empty()) << key;
  }
  EXPECT_TRUE(json["recording"]["started_at"].is_null());
  EXPECT_TRUE(json["recording"]["overhead"]["bpf_ns"].is_null());
  EXPECT_TRUE(json["host"]["cpus"].is_null());
  EXPECT_EQ(json["recording"]["complete"], false);
}

TEST(JsonReport, HostileNamesDoNotBreakIt) {
  StreamBuilder stream;
  const std::string evil = "\"},{\x01\x1b[31m\xff\xc0\xaf\\";
  stream.sleep(stream.task(7, evil), 0, kMs, {"msleep" + evil}, by_timer());
  stream.sink().on_lost({evil, 3});
  stream.sink().on_nic({"{\"name\": \"eth0\"}"});
  stream.sink().on_nic({"{\"name\": "});
  stream.sink().on_nic({"[1]"});
  const nlohmann::json json = json_of(stream.finish());
  const std::string comm = json["tasks"][0]["comm"];
  EXPECT_EQ(comm, "\"},{\x01\x1b[31m\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\\");
  EXPECT_EQ(json["recording"]["lost"]["total"], 3);
  ASSERT_EQ(json["nics"].size(), 1U);
  EXPECT_EQ(json["nics"][0]["name"], "eth0");
}

TEST(JsonReport, UnknownOwnersAreNullWithAReason) {
  StreamBuilder stream;
  stream.wait(stream.task(7, "a"), 0, 10 * kMs, 0);
  const nlohmann::json json = json_of(stream.finish());
  const nlohmann::json& lock = json["locks"][0];
  EXPECT_EQ(lock["address"], "0xffffffff831f5aa0");
  EXPECT_EQ(lock["waits"]["count"], 1);
  EXPECT_EQ(lock["waits"]["p99_ns"], 10 * kMs);
  EXPECT_EQ(lock["waits"]["source"], "contention");
  EXPECT_TRUE(lock["waits"]["spin_ns"].is_null());
  EXPECT_TRUE(lock["holds"].is_null());
  const nlohmann::json& owner = lock["waiters"][0]["owners"][0];
  EXPECT_TRUE(owner["tid"].is_null());
  EXPECT_TRUE(owner["comm"].is_null());
  EXPECT_EQ(owner["waited_ns"], 10 * kMs);
  EXPECT_FALSE(owner["reason"].get<std::string>().empty());
  EXPECT_TRUE(lock["worst"][0]["holder"].is_null());
  EXPECT_EQ(lock["worst"][0]["activity"], "unknown");
}

TEST(JsonReport, InterruptsAreTidMinusOne) {
  StreamBuilder stream;
  stream.sleep(stream.task(7, "a"), 0, 10 * kMs, {"msleep"}, by_timer());
  const nlohmann::json json = json_of(stream.finish());
  const nlohmann::json& row = json["tasks"][0]["woken_by"][0];
  EXPECT_EQ(row["tid"], -1);
  EXPECT_EQ(row["context"], "timer");
  EXPECT_EQ(row["share"], 1.0);
}

TEST(JsonReport, SchemaIsJson) {
  const nlohmann::json schema = nlohmann::json::parse(report_schema());
  EXPECT_EQ(schema["properties"]["schema"]["const"], "rtnlprof.report/1");
}

TEST(JsonDocument, NotANumberIsNull) {
  std::ostringstream out;
  JsonDocument json(out);
  json.begin_array();
  json.value(0.0 / 0.0);
  json.value(0.1);
  json.end_array();
  EXPECT_EQ(out.str(), "[\n null,\n 0.1\n]\n");
}

}  // namespace
}  // namespace rtnlprof
